// SPDX-License-Identifier: Apache-2.0
// What a rule that holds frames asks for (impair/ parses it, wire/ performs it), and what it
// achieved.
#pragma once

#include <cstdint>
#include <vector>

#include "base/histogram.h"

namespace xr {

inline constexpr uint64_t kLongestHold = 600'000'000'000;   // ns: ten minutes
inline constexpr uint64_t kDefaultHoldTimeout = 10'000'000; // ns
inline constexpr uint32_t kMostHeld = 511;          // reorder: depth; taken and passing frames
inline constexpr uint32_t kMostAccumulated = 65535; // frames of one burst

// What is added to a delay.
enum class Jitter : uint8_t {
  None,
  Uniform,  // from `a` to `b`
  Gaussian, // mean `a`, standard deviation `b`
  Poisson,  // whole microseconds, mean `a`
  Gamma,    // `shape`, scale `b`
  Table,    // one of `table`, each as likely
  Step,     // `a` and `b` in turns, each for `every_ns`
};

// Times are in nanoseconds.
struct Hold {
  enum class Kind : uint8_t { None, Delay, Accumulate, Reorder, Shape };
  Kind kind = Kind::None;

  // Delay. The sum of delay and jitter is at least 0.
  Jitter jitter = Jitter::None;
  bool unordered = false; // jitter may change the order within a stream
  uint64_t delay_ns = 0;
  uint64_t a = 0, b = 0;
  double shape = 0;
  uint64_t every_ns = 0;
  std::vector<uint64_t> table = {};

  // Accumulate: collects `frames` (0: no number) or for `timeout_ns` after the first one, then
  // sends them as one burst.
  // Reorder with a depth: a selected frame leaves after `depth` later frames that the rule matched.
  // Reorder without (depth 0), in turns: `skip` selected frames pass, `frames` are taken, and leave
  // after `pass` later matched frames.
  // A reordered frame leaves after `timeout_ns` at the latest.
  uint32_t frames = 0;
  uint32_t depth = 0;
  uint32_t skip = 0, pass = 0;
  uint64_t timeout_ns = 0;

  // Shape: a token bucket, full at first, and a queue before it. A frame longer than `burst` leaves
  // when the bucket is full.
  uint64_t rate = 0;     // bits per second
  uint32_t overhead = 0; // bytes per frame in addition to its length (L1: 24)
  uint64_t burst = 0;    // bytes
  uint64_t queue = 0;    // bytes of waiting frames, without overhead

  bool operator==(const Hold &) const = default;
};

// Why a rule lost a frame.
enum class HoldDrop : uint8_t {
  Queue, // shape: its queue was full
};

// A rule's share of what was held. entered = dropped + backlog + left.
struct HoldCounts {
  uint64_t frames = 0, bytes = 0; // that entered: selected by the rule, or dropped by its queue
  uint64_t dropped_frames = 0, dropped_bytes = 0; // shape: the queue was full
  uint64_t timeouts = 0; // frames that left because of the timeout of a number of frames
  uint64_t backlog_frames = 0, backlog_bytes = 0;
  uint64_t most_frames = 0, most_bytes = 0; // largest backlogs
  // Given delay minus the one asked for (delay and jitter; for the others, the moment that their
  // words define), in ns: what keeping a stream's order added, and how late the driver was.
  ShortHistogram late;

  void merge(const HoldCounts &other);
};

} // namespace xr
