// SPDX-License-Identifier: Apache-2.0
// How large frames are, at which rate they leave, and for how long, as plain data. A size is with
// FCS here: 64 are 60 bytes for a NIC.
#pragma once

#include <cstdint>
#include <vector>

namespace xr::packet {

inline constexpr uint32_t kFcsBytes = 4, kPreambleBytes = 8, kGapBytes = 12;
inline constexpr uint32_t kSmallestFrame = 64;

struct WeightedSize {
  uint32_t size = 64;
  double weight = 1;
  bool operator==(const WeightedSize &) const = default;
};

struct FrameSizes {
  enum class Kind : uint8_t { Fixed, Increment, Random, Weighted };
  Kind kind = Kind::Fixed;
  uint32_t from = 64, to = 64,
           step = 1; // Fixed: from; Increment: from, from + step, ... up to `to`
  std::vector<WeightedSize> weighted = {};
  uint64_t seed = 1;               // Random, Weighted
  uint32_t least = kSmallestFrame; // smaller ones are as large as this
  bool operator==(const FrameSizes &) const = default;

  uint32_t of(uint64_t number) const; // of frame `number`, from 0
  uint32_t smallest() const;          // without regard to `least`
  uint32_t largest() const;
};

struct FrameRate {
  // Bits: of whole frames with FCS (layer 2). Percent: of the line rate, with preamble and gap
  // (layer 1).
  enum class Kind : uint8_t { Packets, Bits, Percent };
  Kind kind = Kind::Packets;
  uint64_t value = 1000; // per second: Packets, Bits
  double percent = 100;
  bool operator==(const FrameRate &) const = default;
};

// A time, or the time of so many bytes at the line rate.
struct LineTime {
  double value = 0;
  bool bytes = true; // false: ns
  bool operator==(const LineTime &) const = default;
  uint64_t ns(uint64_t line_bits) const; // 0 where bytes have no rate
};

struct FrameSpan {
  enum class Kind : uint8_t { Continuous, Packets, Time, Bursts };
  Kind kind = Kind::Continuous;
  uint64_t packets = 1;     // Packets; of each burst
  uint64_t ns = 0;          // Time
  uint64_t bursts = 0;      // 0: without end
  uint32_t gap = kGapBytes; // the fewest bytes between two frames; without a line rate not kept
  LineTime delay = {};      // before the first frame
  LineTime between = {};    // from the end of a burst to the start of the next
  bool operator==(const FrameSpan &) const = default;
};

} // namespace xr::packet
