// SPDX-License-Identifier: Apache-2.0
// The frames that benchmarks send and run programs on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include <arpa/inet.h>

#include "roce/opcode.h"

namespace xr::bench {

inline constexpr uint32_t kAroundPayload = 14 + 20 + 8 + 12 + 4; // up to the BTH, and the iCRC

// RoCEv2 of `bytes` from 192.0.2.1 to 192.0.2.2, QP 0.
inline std::vector<uint8_t> ipv4_frame(uint32_t bytes, uint8_t opcode) {
  std::vector<uint8_t> f(bytes);
  const auto put16 = [&f](size_t at, size_t value) {
    f[at] = static_cast<uint8_t>(value >> 8);
    f[at + 1] = static_cast<uint8_t>(value);
  };
  put16(12, 0x0800);
  f[14] = 0x45;
  put16(16, bytes - 14);
  f[22] = 64;
  f[23] = 17;
  f[26] = f[30] = 192;
  f[28] = f[32] = 2;
  f[29] = 1;
  f[33] = 2;
  put16(36, 4791);
  put16(38, bytes - 34);
  f[42] = opcode;
  return f;
}

inline std::vector<uint8_t> send_middle(uint32_t payload) {
  return ipv4_frame(payload + kAroundPayload, ROCE_RC_SEND_MIDDLE);
}

// A SEND MIDDLE over IPv6.
inline std::vector<uint8_t> send_middle_ipv6(uint32_t payload) {
  const std::vector<uint8_t> v4 = send_middle(payload);
  std::vector<uint8_t> f(v4.size() + 20);
  f[12] = 0x86;
  f[13] = 0xdd;
  f[14] = 0x60;
  const uint16_t length = htons(static_cast<uint16_t>(v4.size() - 34));
  std::memcpy(&f[18], &length, 2);
  f[20] = 17;
  f[21] = 64;
  for (int i = 0; i < 2; i++) {
    const uint8_t address[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0,
                                 0,    0,    0,    0,    0, 0, 0, static_cast<uint8_t>(i + 1)};
    std::memcpy(&f[22 + 16 * i], address, 16);
  }
  std::copy(v4.begin() + 34, v4.end(), f.begin() + 54);
  return f;
}

// The frame as a mirror sends it: IPv4, GRE with a sequence number, ERSPAN type II.
inline std::vector<uint8_t> mirrored_frame(const std::vector<uint8_t> &inside) {
  constexpr uint8_t kHead[] = {2,   0,    0,   0,    0,   1, 2,   0, 0,    0,  0,    2,    8,
                               0,   0x45, 0,   0,    0,   0, 0,   0, 0,    64, 47,   0,    0,
                               198, 51,   100, 1,    203, 0, 113, 1, 0x10, 0,  0x88, 0xbe, 0,
                               0,   0,    0,   0x10, 0,   0, 7,   0, 0,    0,  0};
  std::vector<uint8_t> f(sizeof(kHead) + inside.size());
  std::memcpy(f.data(), kHead, sizeof(kHead));
  std::memcpy(f.data() + sizeof(kHead), inside.data(), inside.size());
  const uint16_t total = htons(static_cast<uint16_t>(f.size() - 14));
  std::memcpy(&f[16], &total, 2);
  return f;
}

} // namespace xr::bench
