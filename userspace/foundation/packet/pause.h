// SPDX-License-Identifier: Apache-2.0
// PFC frames (IEEE 802.1Qbb) and PAUSE frames (IEEE 802.3, annex 31B).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packet/frame.h"

namespace xr::packet {

inline constexpr Mac kPauseGroup{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
inline constexpr uint32_t kPauseBytes = 60; // of a frame, without FCS
inline constexpr unsigned kPriorities = 8;
inline constexpr uint32_t kQuantumBits = 512; // a quantum is the time of 512 bits

struct Pause {
  Mac src{}, dst = kPauseGroup;
  bool global = false; // PAUSE: quanta[0] for all priorities
  uint16_t enable = 0; // class-enable vector: bit n is priority n; the high byte should be 0
  std::array<uint16_t, kPriorities> quanta{}; // 0: resume
};

// A frame of kPauseBytes. `quanta` are written for all priorities, enabled or not.
std::vector<uint8_t> build_pause(const Pause &pause);

// nullopt: it is neither a PFC nor a PAUSE frame, or it is cut before its last quanta.
std::optional<Pause> parse_pause(std::span<const uint8_t> frame);

// How long these quanta last at this line rate, in ns; 0 without a rate.
uint64_t pause_ns(uint16_t quanta, uint64_t line_bits);

} // namespace xr::packet
