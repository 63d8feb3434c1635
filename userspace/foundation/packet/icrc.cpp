// SPDX-License-Identifier: Apache-2.0
#include "packet/icrc.h"

#include <array>

#include <isa-l/crc.h>

namespace xr {

namespace {

// CRC-32 of the eight bytes of ones in place of the LRH (IBA annex A17.3).
constexpr uint32_t kAfterDummyLrh = 0x2144df1c;

// Fields that routers may change count as ones. CRC is linear, so a changed seed replaces a copy of
// the headers with ones in them, and one pass over the unmodified packet gives the value.
// kSeed[offset][d] is the change of the seed with the same effect as xor d on the byte at `offset`:
// d itself at offset 0, and one CRC step backwards for each further byte.
constexpr uint32_t kOffsets = ROCE_IPV6_LEN + ROCE_UDP_LEN + 5; // up to byte 4 of the BTH
using SeedTable = std::array<std::array<uint32_t, 256>, kOffsets>;

constexpr SeedTable make_seeds() {
  std::array<uint32_t, 256> forward{}, index_of_top{};
  SeedTable seeds{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++)
      crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    forward[i] = crc;
    index_of_top[crc >> 24] = i;
    seeds[0][i] = i;
  }
  for (uint32_t offset = 1; offset < kOffsets; offset++)
    for (uint32_t d = 0; d < 256; d++) {
      const uint32_t after = seeds[offset - 1][d], index = index_of_top[after >> 24];
      seeds[offset][d] = (after ^ forward[index]) << 8 | index;
    }
  return seeds;
}

constexpr SeedTable kSeed = make_seeds();

uint32_t ones(uint32_t offset, uint8_t byte) { return kSeed[offset][byte ^ 0xff]; }

uint32_t ones_in_network(const uint8_t *l3) {
  if (l3[0] >> 4 == 4) // TOS, TTL, header checksum
    return ones(1, l3[1]) ^ ones(8, l3[8]) ^ ones(10, l3[10]) ^ ones(11, l3[11]);
  return kSeed[0][~l3[0] & 0x0f] ^ ones(1, l3[1]) ^ ones(2, l3[2]) ^ ones(3, l3[3]) ^
         ones(7, l3[7]); // traffic class, flow label, hop limit
}

// UDP checksum; FECN, BECN and the reserved bits after them. The BTH is `offset` bytes after the
// start of the CRC.
uint32_t ones_in_transport(const uint8_t *bth, uint32_t offset, bool udp) {
  const uint32_t seed = ones(offset + 4, bth[4]);
  return udp ? seed ^ ones(offset - 2, bth[-2]) ^ ones(offset - 1, bth[-1]) : seed;
}

// ISA-L 2.30 returns with the upper halves of the vector registers in use. On recent processors
// every later SSE instruction then waits for them: 250 ns more per packet.
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

} // namespace

uint32_t icrc_value(const uint8_t *frame, uint32_t l3, uint32_t bth, uint32_t end) {
  const uint8_t *network = frame + l3, *transport = frame + bth;
  const bool ipv4 = network[0] >> 4 == 4, udp = ipv4 || bth - l3 != ROCE_GRH_LEN;
  const uint32_t seed = kAfterDummyLrh ^ ones_in_network(network);
  const uint32_t covered = end - ROCE_ICRC_LEN - l3;

  if (bth - l3 <= ROCE_IPV6_LEN + ROCE_UDP_LEN)
    return crc(seed ^ ones_in_transport(transport, bth - l3, udp), network, covered);
  // After many options or extension headers, which count unchanged, a second pass starts at UDP.
  const uint32_t before = bth - ROCE_UDP_LEN - l3;
  const uint32_t value = crc(seed, network, before);
  return crc(value ^ ones_in_transport(transport, ROCE_UDP_LEN, true), network + before,
             covered - before);
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
