// SPDX-License-Identifier: Apache-2.0
// Bits of frames by whose values they are counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packet/frame_shape.h"

namespace xr::packet {

// Positions as in a FrameShape; at most 128 bits.
struct BitRange {
  uint32_t bit = 0, bits = 0;
  bool operator==(const BitRange &) const = default;
};

using TagValues = std::vector<Wide>; // by range

// The values in a frame; 0 beyond its end.
TagValues tag_values(std::span<const BitRange> ranges, std::span<const uint8_t> frame);

// The values in the frames of a shape, which repeat after period() frames.
class FrameTags {
public:
  static constexpr uint64_t kMost = 1U << 16; // frames of a period
  // 0: more than kMost.
  static uint64_t period(const FrameShape &shape, std::span<const BitRange> ranges);

  FrameTags() = default; // of no range
  // With a period.
  FrameTags(const FrameShape &shape, const std::vector<BitRange> &ranges);

  size_t period() const { return values_.size(); }
  const TagValues &of(uint64_t number) const { return values_[number % values_.size()]; }

private:
  std::vector<TagValues> values_ = std::vector<TagValues>(1);
};

} // namespace xr::packet
