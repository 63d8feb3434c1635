// SPDX-License-Identifier: Apache-2.0
// Base class and helpers of the readers of pcap and pcapng.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "capture/byte_source.h"
#include "capture/reader.h"

namespace xr {

// libpcap's limit for these link types; a larger value means a damaged file.
constexpr uint32_t kMaxCaptured = 262144;

class CaptureFormat {
public:
  explicit CaptureFormat(ByteSource &source) : source_(source) {}
  virtual ~CaptureFormat() = default;
  virtual Next next(CapturedFrame &frame) = 0;
  const Error &error() const { return error_; }
  virtual CaptureNotes notes() const { return {}; }

protected:
  Next failed(Error error);
  Next damaged(const std::string &what);
  // The source has ended: at a packet boundary, or inside `what`.
  Next ended(const char *what);
  Next truncated(const char *what);

  ByteSource &source_;
  uint64_t packets_ = 0;

private:
  Error error_;
};

// Each expects `source` at the first byte of a file whose magic number has been recognised.
// To add a format: FORMAT_file.cpp with a CaptureFormat and open_FORMAT, its magic number in
// Reader::begin, help in cli/analyze.cpp; reader_test, fuzz/make_seeds.cpp, bad_captures.sh.
Result<std::unique_ptr<CaptureFormat>> open_pcap(ByteSource &source, const ReadOptions &options);
Result<std::unique_ptr<CaptureFormat>> open_pcapng(ByteSource &source);
// The pcap variants that only libpcap reads. Error if libpcap does not recognise the file either.
Result<std::unique_ptr<CaptureFormat>> open_libpcap(ByteSource &source, const ReadOptions &options);

// `linktype`: see https://www.tcpdump.org/linktypes.html.
std::optional<Link> known_link(uint32_t linktype);
uint16_t linktype_of(Link link);
// "NAME: link type 105 (IEEE802_11) ...", with a hint.
Error unknown_link(const std::string &name, uint32_t linktype);
// "NAME: damaged: WHAT".
Error damaged_error(const std::string &name, const std::string &what);
// "NAME: truncated: it ends inside WHAT, after 3 whole packets".
Error truncated_error(const std::string &name, const char *what, uint64_t packets);

// Reads integers of a file in the byte order of the machine that wrote it.
class ByteOrder {
public:
  explicit ByteOrder(bool swapped = false) : swapped_(swapped) {}
  uint16_t u16(const uint8_t *p) const {
    uint16_t v;
    std::memcpy(&v, p, sizeof(v));
    return swapped_ ? __builtin_bswap16(v) : v;
  }
  uint32_t u32(const uint8_t *p) const {
    uint32_t v;
    std::memcpy(&v, p, sizeof(v));
    return swapped_ ? __builtin_bswap32(v) : v;
  }
  uint64_t u64(const uint8_t *p) const {
    uint64_t v;
    std::memcpy(&v, p, sizeof(v));
    return swapped_ ? __builtin_bswap64(v) : v;
  }

private:
  bool swapped_;
};

// Some writers set the original length below the captured one: the captured bytes were on the wire.
inline void set_lengths(CapturedFrame &frame, uint32_t captured, uint32_t length, uint32_t fcs) {
  length = std::max(captured, length);
  length -= std::min(length, fcs);
  frame.length = length;
  frame.captured = std::min(captured, length);
}

} // namespace xr
