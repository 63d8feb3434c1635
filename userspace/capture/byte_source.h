// SPDX-License-Identifier: Apache-2.0
// The bytes of a file, of standard input or of memory, unpacked when they are gzip: a window that
// moves forward. Plain files are mapped: over 2 million frames of 1 KB in the page cache all that
// `analyze` does takes 350 ms of one processor so, and 415 with read(), most of it the kernel's
// copy. (On a busy machine, all in one run; tests/bench/analyze_bench.sh shows an idle one.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "capture/mapping.h"

namespace xr {

class ByteSource {
public:
  // Of a read(). Of 64 KiB to 4 MiB, 256 and 512 KiB were fastest: they are still in the
  // second-level cache when the iCRC comes.
  static constexpr size_t kChunk = 512 << 10;

  // "-" is standard input. Once *stop is true, the input has ended.
  static Result<std::unique_ptr<ByteSource>> open(const std::string &path,
                                                  const std::atomic<bool> *stop);
  static std::unique_ptr<ByteSource> memory(std::vector<uint8_t> bytes, std::string name,
                                            size_t chunk);
  ~ByteSource();
  ByteSource(const ByteSource &) = delete;
  ByteSource &operator=(const ByteSource &) = delete;

  // Whether n bytes stand at at(). If not, the input has ended or failed; see why_ended().
  bool need(size_t n) { return have() >= n || fill(n); }
  // Of bytes given out since the last look, some may not be the file's: why_ended() tells.
  bool lost() { return mapping_ && mapping_->lost() && lose(); }
  const uint8_t *at() const { return at_; }
  size_t have() const { return static_cast<size_t>(end_ - at_); }
  // Steps over n bytes that are there. They stay readable until the next need().
  void take(size_t n) {
    if (mapping_)
      fetch(at_ + kFetchAhead, n);
    at_ += n;
  }
  // Steps over n bytes, there or not yet. False: it ended before.
  bool skip(uint64_t n);

  // Nothing: the plain end, or stopped.
  struct Failure {
    bool truncated; // gzip data that ends too early; else reading or unpacking failed
    Error error;
  };
  const std::optional<Failure> &why_ended() const { return failure_; }
  bool stopped() const { return stop_ && stop_->load(std::memory_order_relaxed); }

  const std::string &name() const { return name_; }
  uint64_t bytes_read() const {
    return gzip_ ? read_ : read_ - have();
  }                                               // of the file, packed or not
  uint64_t bytes_total() const { return total_; } // 0: not known
  bool gzip() const { return gzip_ != nullptr; }

private:
  struct Gzip;
  ByteSource(std::string name, size_t chunk);
  // What the processor fetches on its own from a mapped file is not enough, by a third.
  static constexpr size_t kFetchAhead = 2048, kFetchMost = 4096;
  static void fetch(const uint8_t *from, size_t n) {
    for (size_t i = 0; i < n && i < kFetchMost; i += 64)
      __builtin_prefetch(from + i);
  }
  bool fill(size_t n);
  bool move(size_t n);
  bool lose();
  bool look_for_gzip();
  bool start_gzip();
  size_t more(uint8_t *into, size_t room);
  size_t raw(uint8_t *into, size_t room);
  size_t unpack(uint8_t *into, size_t room);
  void fail(bool truncated, Error error);

  std::string name_;
  size_t chunk_;
  Fd owned_;
  int fd_ = -1;        // -1: memory
  bool waits_ = false; // a pipe or terminal, where a read may take for ever
  const std::atomic<bool> *stop_ = nullptr;
  std::vector<uint8_t> memory_;
  size_t memory_at_ = 0;
  uint64_t read_ = 0; // of the file; without gzip, the offset of what follows end_
  uint64_t total_ = 0;
  std::unique_ptr<Gzip> gzip_;
  std::unique_ptr<Mapping> mapping_; // plain files, once their first chunk is read
  std::optional<Failure> failure_;

  std::vector<uint8_t> buffer_;
  const uint8_t *at_ = nullptr, *end_ = nullptr;
};

} // namespace xr
