// SPDX-License-Identifier: Apache-2.0
#include "packet/icrc.h"

#include <cstring>

#include <isa-l/crc.h>

namespace xr {

namespace {

// CRC-32 of the eight bytes of ones that stand for the LRH.
constexpr uint32_t kAfterDummyLrh = 0x2144df1c;

// The longest run of headers that is copied in one piece: IPv4 with all options, UDP and BTH, or
// IPv6 with some extension headers.
constexpr uint32_t kHeadersMax = 128;

// ISA-L 2.30 comes back with the upper halves of vector registers in use, and on recent processors
// every SSE instruction behind it then waits for them: a packet would cost 250 ns more.
void leave_vector_code() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx"))
    asm volatile("vzeroupper" ::
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#endif
}

uint32_t crc(uint32_t seed, const uint8_t *data, uint32_t length) {
  const uint32_t value = crc32_gzip_refl(seed, data, length);
  leave_vector_code();
  return value;
}

// Fields that routers may change count as ones.
void mask_network(uint8_t *l3) {
  if (l3[0] >> 4 == 4) {
    l3[1] = 0xff;                  // DSCP, ECN
    l3[8] = 0xff;                  // TTL
    std::memset(l3 + 10, 0xff, 2); // header checksum
  } else {
    l3[0] |= 0x0f; // traffic class and flow label
    std::memset(l3 + 1, 0xff, 3);
    l3[7] = 0xff; // hop limit
  }
}

// `udp`: false in RoCEv1, whose GRH is followed by the BTH.
void mask_transport(uint8_t *bth, bool udp) {
  if (udp)
    std::memset(bth - 2, 0xff, 2); // UDP checksum
  bth[4] = 0xff;                   // FECN, BECN, reserved
}

} // namespace

uint32_t icrc_value(const uint8_t *frame, uint32_t l3, uint32_t bth, uint32_t end) {
  const bool udp = frame[l3] >> 4 == 4 || bth - l3 != ROCE_GRH_LEN;
  const uint32_t headers = bth + ROCE_BTH_LEN - l3;
  const uint8_t *rest = frame + bth + ROCE_BTH_LEN;
  const uint32_t rest_length = end - ROCE_ICRC_LEN - bth - ROCE_BTH_LEN;
  uint8_t copy[kHeadersMax];

  if (headers + rest_length <= kHeadersMax) { // ACKs and their like: one piece, one call
    std::memcpy(copy, frame + l3, headers + rest_length);
    mask_network(copy);
    mask_transport(copy + bth - l3, udp);
    return crc(kAfterDummyLrh, copy, headers + rest_length);
  }
  if (headers <= kHeadersMax) {
    std::memcpy(copy, frame + l3, headers);
    mask_network(copy);
    mask_transport(copy + bth - l3, udp);
    return crc(crc(kAfterDummyLrh, copy, headers), rest, rest_length);
  }
  // Long IPv6 extension headers stay where they are.
  std::memcpy(copy, frame + l3, ROCE_IPV6_LEN);
  mask_network(copy);
  uint32_t value = crc(kAfterDummyLrh, copy, ROCE_IPV6_LEN);
  const uint32_t udp_at = bth - ROCE_UDP_LEN;
  value = crc(value, frame + l3 + ROCE_IPV6_LEN, udp_at - l3 - ROCE_IPV6_LEN);
  std::memcpy(copy, frame + udp_at, ROCE_UDP_LEN + ROCE_BTH_LEN);
  mask_transport(copy + ROCE_UDP_LEN, true);
  value = crc(value, copy, ROCE_UDP_LEN + ROCE_BTH_LEN);
  return crc(value, rest, rest_length);
}

Icrc icrc_check(const uint8_t *frame, uint32_t captured, const roce_packet &packet) {
  if (packet.end > captured)
    return Icrc::Absent;
  const uint8_t *wire = frame + packet.end - ROCE_ICRC_LEN;
  const uint32_t sent =
      wire[0] | wire[1] << 8 | wire[2] << 16 | static_cast<uint32_t>(wire[3]) << 24;
  if (sent == icrc_value(frame, packet.l3, packet.bth, packet.end))
    return Icrc::Good;
  return sent == 0 ? Icrc::Zero : Icrc::Bad;
}

void icrc_write(uint8_t *frame, const roce_packet &packet) {
  const uint32_t value = icrc_value(frame, packet.l3, packet.bth, packet.end);
  for (uint32_t i = 0; i < ROCE_ICRC_LEN; i++)
    frame[packet.end - ROCE_ICRC_LEN + i] = static_cast<uint8_t>(value >> (8 * i));
}

} // namespace xr
