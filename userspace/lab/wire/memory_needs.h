// SPDX-License-Identifier: Apache-2.0
// How much memory frames need that rules and links hold at once. Each frame has a buffer of its
// own, however short it is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/hold.h"
#include "model/link.h"

namespace xr::wire {

inline constexpr uint64_t kMeanFrame = 1024;        // bytes, of `least`
inline constexpr uint64_t kShortestFrame = 60;      // bytes, without FCS
inline constexpr uint64_t kFastestFlow = 2'000'000; // frames/s that a process is taken to move

// One direction, from the port where frames enter to the link of the other port.
struct HoldingPath {
  std::vector<Hold> rules = {};
  const LinkSpec *link = nullptr; // none: null
  uint64_t ingress_rate = 0;      // of the lines, bit/s; 0: unknown
  uint64_t egress_rate = 0;
  unsigned ports = 2;
};

struct HeldMost {
  uint64_t bytes = 0;      // at the rate of the link, else of its line
  uint64_t most_bytes = 0; // at the rate of the line where they enter
  uint64_t least = 0;      // frames: these bytes in frames of kMeanFrame
  uint64_t frames = 0; // of any length, at the rate of the line where they enter or at kFastestFlow
};
HeldMost held_most(const HoldingPath &path);

// Buffers of each direction.
struct MemoryPlan {
  std::array<uint64_t, 2> buffers{};
  uint64_t bytes = 0;      // of all
  uint64_t needed = 0;     // bytes for frames of any length
  uint64_t least = 0;      // bytes for frames of kMeanFrame; with less, wire does not start
  bool fits = true;        // bytes >= least
  bool any_length = true;  // bytes >= needed
  uint64_t mean_frame = 0; // bytes: at full rate there are enough buffers for frames of this length
};
struct MemoryLimits {
  uint64_t buffer = 2048;          // bytes of a buffer
  std::array<uint64_t, 2> rings{}; // buffers of each direction that hold no frame
  uint64_t given = 0;              // bytes; 0: as much as is needed
  uint64_t smallest = 0;           // bytes, if none are given
  uint64_t free = 0; // bytes of the machine; at most half of them are taken for short frames
};
MemoryPlan plan_memory(const std::array<HeldMost, 2> &held, const MemoryLimits &limits);

// The setting that takes the most memory, and the largest value with which there is enough: not
// more than is free, nor than is given.
struct LargestFit {
  enum class Of : uint8_t {
    LinkDelay,
    LinkBuffer,
    LinkHeadroom,
    RuleDelay,
    RuleTimeout,
    RuleQueue
  };
  Of of = Of::LinkDelay;
  unsigned path = 0;
  size_t rule = 0;   // of the path
  uint64_t most = 0; // ns or bytes, rounded down to three digits
};
// Empty: not even with 0.
std::optional<LargestFit> largest_fit(const std::array<HoldingPath, 2> &paths,
                                      const MemoryLimits &limits);

} // namespace xr::wire
