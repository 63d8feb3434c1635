// SPDX-License-Identifier: Apache-2.0
#include "packet/pause.h"

#include <algorithm>

#include "packet/bytes.h"

namespace xr::packet {

namespace {

constexpr uint32_t kOpcode = ROCE_ETH_LEN, kEnable = 16, kQuanta = 18, kPauseQuanta = 16;

} // namespace

std::vector<uint8_t> build_pause(const Pause &pause) {
  Writer out(kPauseBytes);
  out.ethernet(pause.dst, pause.src, {}, ROCE_ETHERTYPE_MAC_CONTROL);
  if (pause.global) {
    out.put16(ROCE_MAC_CONTROL_PAUSE);
    out.put16(pause.quanta[0]);
  } else {
    out.put16(ROCE_MAC_CONTROL_PFC);
    out.put16(pause.enable);
    for (const uint16_t quanta : pause.quanta)
      out.put16(quanta);
  }
  out.zeros(kPauseBytes - out.size());
  return out.take();
}

std::optional<Pause> parse_pause(std::span<const uint8_t> frame) {
  const uint8_t *bytes = frame.data();
  if (frame.size() < kPauseQuanta + 2 ||
      roce_be16(bytes + ROCE_ETH_LEN - 2) != ROCE_ETHERTYPE_MAC_CONTROL)
    return std::nullopt;
  Pause pause;
  std::copy_n(bytes, pause.dst.size(), pause.dst.begin());
  std::copy_n(bytes + pause.dst.size(), pause.src.size(), pause.src.begin());
  const uint16_t opcode = roce_be16(bytes + kOpcode);
  pause.global = opcode == ROCE_MAC_CONTROL_PAUSE;
  if (pause.global) {
    pause.quanta.fill(roce_be16(bytes + kPauseQuanta));
    return pause;
  }
  if (opcode != ROCE_MAC_CONTROL_PFC || frame.size() < kQuanta + 2 * kPriorities)
    return std::nullopt;
  pause.enable = roce_be16(bytes + kEnable);
  for (unsigned i = 0; i < kPriorities; i++)
    pause.quanta[i] = roce_be16(bytes + kQuanta + 2 * i);
  return pause;
}

uint64_t pause_ns(uint16_t quanta, uint64_t line_bits) {
  return line_bits ? uint64_t{quanta} * kQuantumBits * 1'000'000'000 / line_bits : 0;
}

} // namespace xr::packet
