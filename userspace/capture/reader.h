// SPDX-License-Identifier: Apache-2.0
// Captures in: pcap and pcapng, plain or gzip, a file or standard input; Ethernet, Linux cooked and
// raw IP frames.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace xr {

// What a frame of a capture begins with.
enum class Link : uint8_t { Ethernet, Sll, Sll2, Raw };

struct CapturedFrame {
  const uint8_t *data = nullptr; // until the next frame is asked for
  uint32_t captured = 0;         // bytes at hand, FCS not included
  uint32_t length = 0;           // on the wire, likewise; never less than captured
  uint64_t time_ns = 0;          // since 1970; 0 where the format has no time
  Link link = Link::Ethernet;
};

// Truncated: the capture ends in the middle of something, after all whole frames were given out.
enum class Next : uint8_t { Frame, End, Truncated, Error };

class ByteSource;
class CaptureFormat;

class Reader {
public:
  // "-" is standard input. Once *stop is true, next() says End.
  static Result<Reader> open(const std::string &path, const std::atomic<bool> *stop = nullptr);
  // A file's bytes. `chunk` is how many are looked at together: tests make it small.
  static Result<Reader> from_memory(std::vector<uint8_t> bytes, size_t chunk = 64 << 10);
  Reader(Reader &&) noexcept;
  ~Reader();

  // Once it is not Frame, it stays what it is.
  Next next(CapturedFrame &frame);
  // After Truncated and Error.
  const Error &error() const;

  struct Progress {
    uint64_t bytes; // of the file, packed or not, read so far
    uint64_t total; // 0: not known
  };
  Progress progress() const;

private:
  explicit Reader(std::unique_ptr<ByteSource> source);
  static Result<Reader> begin(std::unique_ptr<ByteSource> source);

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<CaptureFormat> format_;
  Next last_ = Next::Frame;
};

} // namespace xr
