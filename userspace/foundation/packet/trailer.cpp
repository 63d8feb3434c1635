// SPDX-License-Identifier: Apache-2.0
#include "packet/trailer.h"

#include "roce/wire.h"

namespace xr::packet {

namespace {

constexpr uint32_t kMagic = 0x78725066; // "xrPf"

void store_trailer(uint8_t *to, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++)
    to[i] = static_cast<uint8_t>(value >> 8 * (bytes - 1 - i));
}

uint64_t load_trailer(const uint8_t *from, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; i++)
    value = value << 8 | from[i];
  return value;
}

} // namespace

void write_trailer(uint8_t *to, const Trailer &trailer) {
  store_trailer(to, kMagic, 4);
  store_trailer(to + 4, trailer.flow, 2);
  store_trailer(to + 6, trailer.sequence, 4);
  store_trailer(to + 10, trailer.time_ns, 8);
}

std::optional<Trailer> read_trailer(std::span<const uint8_t> frame) {
  for (const uint32_t after : {0U, uint32_t{ROCE_ICRC_LEN}}) {
    if (frame.size() < kTrailerBytes + after)
      break;
    const uint8_t *at = frame.data() + frame.size() - after - kTrailerBytes;
    if (load_trailer(at, 4) == kMagic)
      return Trailer{.flow = static_cast<uint16_t>(load_trailer(at + 4, 2)),
                     .sequence = static_cast<uint32_t>(load_trailer(at + 6, 4)),
                     .time_ns = load_trailer(at + 10, 8)};
  }
  return {};
}

} // namespace xr::packet
