// SPDX-License-Identifier: Apache-2.0
// The frames of several captures as one, in order of time: a ring of files, or captures of several
// ports. Only files whose frames overlap in time are open at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/byte_source.h"
#include "capture/reader.h"

namespace xr {

// Files as they are; a directory is replaced by the captures in it (*.pcap, *.pcapng, *.cap, also
// with .gz), sorted by name. Error: a directory without captures, one that cannot be read, or a
// file that is in the list twice.
Result<std::vector<std::string>> capture_paths(const std::vector<std::string> &names);

// Error: two of them are one file, also by other paths. Its packets would count twice.
Status check_distinct(const std::vector<std::string> &paths);

class CaptureSet {
public:
  // "-", standard input, only if it is the only one. Error: one of them cannot be read at all.
  // `keep`: frames stay valid until the caller drops what leave() gave.
  static Result<CaptureSet> open(std::vector<std::string> paths,
                                 const std::atomic<bool> *stop = nullptr, bool keep = false,
                                 const ReadOptions &options = {});

  // The next frame of all; its file and its number there with it. A file that ends early does not
  // end the others: Truncated or Error comes after the last frame of all.
  Next next(CapturedFrame &frame);
  // After Truncated and Error: one for each such file.
  const std::vector<Error> &errors() const { return errors_; }
  const std::vector<std::string> &paths() const { return paths_; }
  Reader::Progress progress() const;
  // What the files say about their captures, as far as they were read.
  CaptureNotes notes() const;

  // With `keep`: bytes of frames of this call of next() and earlier ones that were left since the
  // last call.
  std::vector<LeftBytes> leave();
  // What mapped files have in their next `distance` bytes, each byte once.
  std::vector<Ahead> ahead(size_t distance);

private:
  struct Waiting {
    uint64_t first_ns;
    uint32_t file;
  };
  struct Active {
    Reader reader;
    CapturedFrame frame; // the next one to return
    uint32_t file;
    uint64_t read = 0;
  };
  CaptureSet(std::vector<std::string> paths, const std::atomic<bool> *stop, bool keep,
             const ReadOptions &options)
      : paths_(std::move(paths)), stop_(stop), keep_(keep), options_(options) {}
  Status look_at(uint32_t file);
  bool advance(Active &active);
  void activate(const Waiting &waiting);
  Active *earliest();
  void leave_all(Reader &reader);

  std::vector<std::string> paths_;
  const std::atomic<bool> *stop_ = nullptr;
  bool keep_ = false;
  ReadOptions options_;
  CaptureNotes notes_;           // of files that have ended
  std::vector<LeftBytes> left_;  // of readers that have ended
  std::vector<Waiting> waiting_; // the last is the next to be opened
  std::vector<Active> active_;
  Active *returned_ = nullptr; // its frame is the caller's until the next call
  std::vector<Error> errors_;
  Next end_ = Next::End;
  uint64_t done_bytes_ = 0, total_bytes_ = 0; // of files that were read; of all
};

} // namespace xr
