// SPDX-License-Identifier: Apache-2.0
#include "packet/stamp.h"

namespace xr::packet {

namespace {

constexpr uint32_t kStampRun = 8;

void put64(uint8_t *to, uint64_t value) {
  for (int i = 7; i >= 0; i--, value >>= 8)
    to[i] = static_cast<uint8_t>(value);
}

uint64_t get64(const uint8_t *from) {
  uint64_t value = 0;
  for (int i = 0; i < 8; i++)
    value = value << 8 | from[i];
  return value;
}

} // namespace

void write_stamp(uint8_t *payload, const Stamp &stamp) {
  put64(payload, kStampMagic);
  put64(payload + kStampRun, stamp.run);
  put64(payload + kStampSequence, stamp.sequence);
  put64(payload + kStampTime, stamp.time_ns);
}

std::optional<Stamp> read_stamp(std::span<const uint8_t> frame, const roce_packet &packet) {
  if (packet.payload < kStampBytes)
    return std::nullopt;
  const size_t after = uint64_t{packet.payload} + packet.pad + ROCE_ICRC_LEN;
  if (after > packet.end || packet.end - after + kStampBytes > frame.size())
    return std::nullopt;
  const uint8_t *payload = frame.data() + (packet.end - after);
  if (get64(payload) != kStampMagic)
    return std::nullopt;
  return Stamp{get64(payload + kStampRun), get64(payload + kStampSequence),
               get64(payload + kStampTime)};
}

} // namespace xr::packet
