// SPDX-License-Identifier: Apache-2.0
// The requested rate of a sender and its distribution in time.
#pragma once

#include <cstdint>
#include <string>

namespace xr::congestion {

// L2 counts the bytes of a frame without FCS; L1 adds 24 bytes: FCS, preamble and gap.
struct Rate {
  enum class Kind : uint8_t {
    Top,
    Packets,
    BitsL1,
    BitsL2,
    Percent
  }; // Percent: of the line rate, L1
  Kind kind = Kind::Top;
  double value = 0;      // per second; Percent: 0 to 100
  std::string text = {}; // as the user wrote it, with its unit; "" for Top

  // Percent stay: they are of the line.
  void scale(double factor) { value *= kind == Kind::Percent ? 1 : factor; }
};

// A rate in the units that intervals are computed from: a frame of N bytes (without FCS) counts
// N * per_byte + per_packet units; `rate` of them a second, 0 for Top.
struct RateUnits {
  double rate = 0;
  uint32_t per_byte = 0, per_packet = 0;
};
// `line_bits` a second are what Percent refers to.
RateUnits units_of(const Rate &rate, double line_bits);

// A schedule that is late by more than this loses the rest.
inline constexpr uint64_t kPatienceNs = 50'000'000;

struct Pacing {
  enum class Shape : uint8_t { Constant, Poisson, Burst };
  Rate rate; // Burst: the rate within a burst
  Shape shape = Shape::Constant;
  // Gap: from the last packet of a burst to the first of the next.
  uint64_t burst_packets = 0, burst_gap_ns = 0;
  uint64_t bursts = 0;   // 0: unlimited
  uint64_t start_ns = 0; // offset from the start of the run
  uint64_t ramp_ns = 0;  // the rate grows from `ramp_from` to the full rate
  double ramp_from = 0;  // fraction of the rate, 0 to 1
};

} // namespace xr::congestion
