// SPDX-License-Identifier: Apache-2.0
// The header and the records of pcap 2.4 (draft-ietf-opsawg-pcap), for all that read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capture/capture_format.h"

namespace xr {

class PcapRecords {
public:
  static constexpr size_t kFileHeader = 24;
  static constexpr size_t kHeader = 16; // of a record

  // Whether a file that begins with these four bytes is pcap of a version that has this header.
  static bool is_pcap(const uint8_t *magic);
  // `header`: the file's, whole, of which is_pcap() holds. Nothing: an older version, with other
  // records.
  static Result<std::optional<PcapRecords>> of(const std::string &name, const uint8_t *header,
                                               const ReadOptions &options);

  uint32_t seconds(const uint8_t *record) const { return order_.u32(record); }
  uint32_t fraction(const uint8_t *record) const { return order_.u32(record + 4); }
  uint32_t captured(const uint8_t *record) const { return order_.u32(record + 8); }
  uint32_t length(const uint8_t *record) const { return order_.u32(record + 12); }

  // Makes a whole record a frame. True: its fraction is a second or more.
  bool fill(CapturedFrame &frame, const uint8_t *record, uint32_t captured) const {
    frame.data = record + kHeader;
    set_lengths(frame, captured, length(record), fcs_);
    const uint32_t units = fraction(record);
    frame.time_ns = seconds(record) * 1000000000ull + units * fraction_ns_;
    frame.link = link_;
    return units >= second_;
  }

  // What is wrong with a record that claims more than kMaxCaptured; `packet` counts from 1.
  static std::string too_long(uint64_t packet, uint32_t captured);
  CaptureNotes notes(uint64_t large_fractions) const;

private:
  PcapRecords(ByteOrder order, bool nano, uint32_t fcs, Link link)
      : order_(order), fraction_ns_(nano ? 1 : 1000), second_(1000000000 / fraction_ns_), fcs_(fcs),
        link_(link) {}

  ByteOrder order_;
  uint64_t fraction_ns_;
  uint64_t second_; // in units of the fraction
  uint32_t fcs_;
  Link link_;
};

} // namespace xr
