// SPDX-License-Identifier: Apache-2.0
// Reads captures: pcap and pcapng, plain or gzip, from a file or standard input, with Ethernet,
// Linux cooked or raw IP frames.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/capture_notes.h"

namespace xr {

// The first header of a frame.
enum class Link : uint8_t { Ethernet, Sll, Sll2, Raw };

struct CapturedFrame {
  const uint8_t *data = nullptr; // valid until the next call of next(), unless bytes are kept
  uint32_t captured = 0;         // bytes available, without FCS
  uint32_t length = 0;           // bytes on the wire, without FCS; never less than `captured`
  uint64_t time_ns = 0;          // since 1970; 0 if the format has no time
  Link link = Link::Ethernet;
  std::string_view comment = {}; // of pcapng, the first; valid as long as `data`
  uint64_t left_out = 0; // frames that the capture left out before this one: capture --around
  uint32_t file = 0;     // of a CaptureSet: index of its path
  uint64_t number = 0;   // of a CaptureSet: in its file, from 1
};

// How the reader interprets a file.
struct ReadOptions {
  // The fractions of pcap timestamps are nanoseconds, although the file says microseconds.
  bool fraction_ns = false;
};

// Truncated: the capture ends inside a packet or block; all whole frames were returned before.
enum class Next : uint8_t { Frame, End, Truncated, Error };

class ByteSource;
class CaptureFormat;
struct LeftBytes;

class Reader {
public:
  // "-" is standard input. When *stop becomes true, next() returns End. `keep`: frames stay valid
  // until the caller drops what leave() gave.
  static Result<Reader> open(const std::string &path, const std::atomic<bool> *stop = nullptr,
                             bool keep = false, const ReadOptions &options = {});
  // Reads a file's bytes in chunks; tests use small chunks.
  static Result<Reader> from_memory(std::vector<uint8_t> bytes, size_t chunk = 64 << 10,
                                    const ReadOptions &options = {});
  Reader(Reader &&) noexcept;
  Reader &operator=(Reader &&) noexcept;
  ~Reader();

  // Once the result is not Frame, it stays the same.
  Next next(CapturedFrame &frame);
  // Valid after Truncated and Error.
  const Error &error() const;

  // What the file itself says about its capture, as far as it was read.
  CaptureNotes notes() const;

  // See ByteSource.
  std::vector<LeftBytes> leave(bool all);
  std::span<const uint8_t> ahead(size_t distance);

  struct Progress {
    uint64_t bytes; // bytes of the file read so far, compressed or not
    uint64_t total; // 0: unknown
  };
  Progress progress() const;

private:
  explicit Reader(std::unique_ptr<ByteSource> source);
  static Result<Reader> begin(std::unique_ptr<ByteSource> source, const ReadOptions &options);

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<CaptureFormat> format_;
  Next last_ = Next::Frame;
};

} // namespace xr
