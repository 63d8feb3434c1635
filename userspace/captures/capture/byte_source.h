// SPDX-License-Identifier: Apache-2.0
// Bytes of a file, of standard input or of memory, decompressed if they are gzip, as a window that
// moves forward. Plain files are mapped: for 2 million frames of 1 KB in the page cache, `analyze`
// takes 350 ms of CPU time with mmap and 415 ms with read(), because read() copies. (One run on a
// busy machine; tests/bench/analyze_bench.sh measures an idle one.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "capture/mapping.h"

namespace xr {

// "NAME: it became shorter while it was read, or its disk failed".
Error lost_error(const std::string &name);

// Bytes that a source has left and that frames still point to.
struct LeftBytes {
  std::unique_ptr<Mapping> mapping; // or:
  std::vector<uint8_t> buffer;
  std::string name = {}; // of the source

  Status check() const; // error: what was read of the mapping may be wrong
};

// Bytes that will be needed soon.
using Ahead = std::span<const uint8_t>;

class ByteSource {
public:
  // Bytes per read(). Of 64 KiB to 4 MiB, 256 and 512 KiB were fastest: the data is still in the L2
  // cache when the iCRC is computed.
  static constexpr size_t kChunk = 512 << 10;

  // "-" is standard input. When *stop becomes true, the input ends. `keep`: bytes stay readable
  // until the caller drops what leave() gave.
  static Result<std::unique_ptr<ByteSource>> open(const std::string &path,
                                                  const std::atomic<bool> *stop, bool keep = false);
  static std::unique_ptr<ByteSource> memory(std::vector<uint8_t> bytes, std::string name,
                                            size_t chunk);
  ~ByteSource();
  ByteSource(const ByteSource &) = delete;
  ByteSource &operator=(const ByteSource &) = delete;

  // True if n bytes are available at data(). If not, the input has ended or failed: see failure().
  bool ensure(size_t n) { return available() >= n || fill(n); }
  // True if bytes returned since the last call may be wrong (file truncated or I/O error): see
  // failure().
  bool is_lost() { return mapping_ && mapping_->lost() && fail_lost(); }
  const uint8_t *data() const { return at_; }
  size_t available() const { return static_cast<size_t>(end_ - at_); }
  // Consumes n available bytes. They stay readable until the next ensure(), or see open().
  void consume(size_t n) {
    if (mapping_ && keep_)
      fetch_later(at_, n);
    else if (mapping_)
      fetch(at_ + kFetchAhead, n);
    at_ += n;
  }
  // Fetches the header of a later record, if the records before it are as long as the one at hand:
  // n bytes, which begin at `at`.
  static void fetch_later(const uint8_t *at, size_t n) { fetch_header(at + kRecordsAhead * n); }
  // Consumes n bytes, reading more if needed. False: the input ended before.
  bool skip(uint64_t n);

  // With `keep`. What was left since the last call; `all`: with what is at hand, at the end.
  std::vector<LeftBytes> leave(bool all);
  // Bytes that do not outlive the next call, in a copy that does.
  const uint8_t *kept(const uint8_t *bytes, size_t n);
  // The part of a mapped file's next `distance` bytes that earlier calls did not return.
  Ahead ahead(size_t distance);

  // Why the input ended; nothing if it ended normally or was stopped.
  struct Failure {
    bool truncated; // gzip data ended early; otherwise reading or decompressing failed
    Error error;
  };
  const std::optional<Failure> &failure() const { return failure_; }
  bool stopped() const { return stop_ && stop_->load(std::memory_order_relaxed); }

  const std::string &name() const { return name_; }
  // Bytes of the file read so far, compressed or not.
  uint64_t bytes_read() const { return gzip_ ? read_ : read_ - available(); }
  uint64_t bytes_total() const { return total_; } // 0: unknown
  bool gzip() const { return gzip_ != nullptr; }

private:
  struct Gzip;
  ByteSource(std::string name, size_t chunk);
  // Prefetching in software makes reads of a mapped file a third faster.
  static constexpr size_t kFetchAhead = 2048, kFetchMost = 4096;
  // With `keep`, who parses a packet fetches it: only the headers of later packets are fetched
  // here, if these are as long as this one.
  static constexpr size_t kRecordsAhead = 16, kRecordHeader = 32;
  static void fetch(const uint8_t *from, size_t n) {
    for (size_t i = 0; i < n && i < kFetchMost; i += 64)
      __builtin_prefetch(from + i);
  }
  static void fetch_header(const uint8_t *from) { // which may be in two cache lines
    __builtin_prefetch(from);
    __builtin_prefetch(from + kRecordHeader);
  }
  bool fill(size_t n);
  void make_room(size_t n);
  bool move_window(size_t n);
  bool fail_lost();
  bool detect_gzip();
  bool start_gzip();
  size_t read_some(uint8_t *into, size_t room);
  size_t read_raw(uint8_t *into, size_t room);
  size_t decompress(uint8_t *into, size_t room);
  void fail(bool truncated, Error error);

  std::string name_;
  size_t chunk_;
  Fd owned_;
  int fd_ = -1;        // -1: memory
  bool waits_ = false; // a pipe or terminal, where read() may block
  bool keep_ = false;
  const std::atomic<bool> *stop_ = nullptr;
  std::vector<uint8_t> memory_;
  size_t memory_at_ = 0;
  uint64_t read_ = 0; // of the file; without gzip, the file offset of end_
  uint64_t total_ = 0;
  std::unique_ptr<Gzip> gzip_;
  std::unique_ptr<Mapping> mapping_; // plain files, after their first chunk
  std::optional<Failure> failure_;

  std::vector<uint8_t> buffer_;
  const uint8_t *at_ = nullptr, *end_ = nullptr;
  const uint8_t *seen_ahead_ = nullptr; // ahead() has returned what is before; in the mapping
  std::vector<uint8_t> copy_;           // the newest of kept()
  std::vector<LeftBytes> left_;
};

} // namespace xr
