// SPDX-License-Identifier: Apache-2.0
// Which priorities of a port are paused by the PFC and PAUSE frames that it received. One thread or
// several; times in nanoseconds of one clock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "packet/pause.h"

namespace xr::packet {

// The priority of a packet on this path: PCP of the outer tag, else DSCP / 8.
unsigned priority_of(const Path &path);

struct PauseCounts {
  uint64_t pfc = 0, pause = 0; // frames received
  uint64_t refused = 0;        // of both: the line's rate is unknown
  std::array<uint64_t, kPriorities> paused_ns{};
};

// Which frames stop a port. The others are counted.
struct ObeyedPauses {
  uint8_t pfc = 0xff; // bit n: PFC of priority n
  bool pause = true;  // PAUSE, which stops all priorities
  bool operator==(const ObeyedPauses &) const = default;
};

class Pauses {
public:
  // `line_bits` a second are the time of quanta; 0: frames are only counted.
  explicit Pauses(uint64_t line_bits, const ObeyedPauses &obeyed = {})
      : line_bits_(line_bits), obeyed_(obeyed) {}

  // Takes a PFC or PAUSE frame; others are ignored.
  void receive(uint64_t now, std::span<const uint8_t> frame);

  // The priority may not send before this time, its last pause's end.
  uint64_t until(unsigned priority) const {
    return until_[priority].load(std::memory_order_relaxed);
  }
  bool paused(unsigned priority, uint64_t now) const { return until(priority) > now; }
  bool any(uint64_t now) const;
  // Grows with each frame that changes a pause.
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

  PauseCounts counts(uint64_t now) const;

private:
  void set(uint64_t now, unsigned priority, uint16_t quanta);

  uint64_t line_bits_;
  ObeyedPauses obeyed_;
  std::array<std::atomic<uint64_t>, kPriorities> until_{}, since_{}, paused_ns_{};
  std::atomic<uint64_t> changes_{0}, pfc_{0}, pause_{0}, refused_{0};
};

} // namespace xr::packet
