// SPDX-License-Identifier: Apache-2.0
#include "capture/pcap_record.h"

#include <fmt/format.h>

namespace xr {

namespace {

constexpr uint32_t kMicro = 0xa1b2c3d4;
constexpr uint32_t kNano = 0xa1b23c4d;

bool is_magic(uint32_t number) { return number == kMicro || number == kNano; }

} // namespace

bool PcapRecords::is_pcap(const uint8_t *magic) {
  return is_magic(ByteOrder().u32(magic)) || is_magic(ByteOrder(true).u32(magic));
}

Result<std::optional<PcapRecords>> PcapRecords::of(const std::string &name, const uint8_t *header,
                                                   const ReadOptions &options) {
  const ByteOrder order(!is_magic(ByteOrder().u32(header)));
  const bool nano = order.u32(header) == kNano || options.fraction_ns;
  if (order.u16(header + 4) != 2 || order.u16(header + 6) != 4)
    return std::optional<PcapRecords>();

  // The upper bits of the link type may give the length of the FCS, in units of two bytes.
  const uint32_t field = order.u32(header + 20), linktype = field & 0x03ffffff;
  const uint32_t fcs = field & 0x04000000 ? 2 * (field >> 28) : 0;
  const std::optional<Link> link = known_link(linktype);
  if (!link)
    return unknown_link(name, linktype);
  return std::optional(PcapRecords(order, nano, fcs, *link));
}

std::string PcapRecords::too_long(uint64_t packet, uint32_t captured) {
  return fmt::format("packet {} claims {} bytes; none may have more than {}", packet, captured,
                     kMaxCaptured);
}

CaptureNotes PcapRecords::notes(uint64_t large_fractions) const {
  CaptureNotes notes;
  (fraction_ns_ == 1 ? notes.fractions_over_ns : notes.fractions_over_us) = large_fractions;
  return notes;
}

} // namespace xr
