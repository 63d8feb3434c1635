// SPDX-License-Identifier: Apache-2.0
#include "packet/frame_tags.h"

#include <algorithm>
#include <numeric>

namespace xr::packet {

namespace {

bool overlap(const Variation &field, const BitRange &range) {
  return field.bit < range.bit + range.bits && range.bit < field.bit + field.bits;
}

bool is_tagged(const Variation &field, std::span<const BitRange> ranges) {
  return std::ranges::any_of(ranges, [&](const BitRange &range) { return overlap(field, range); });
}

} // namespace

TagValues tag_values(std::span<const BitRange> ranges, std::span<const uint8_t> frame) {
  TagValues values;
  for (const BitRange &range : ranges) {
    const bool there = size_t{range.bit} + range.bits <= 8 * frame.size();
    values.push_back(there ? get_bits(frame, range.bit, range.bits) : 0);
  }
  return values;
}

uint64_t FrameTags::period(const FrameShape &shape, std::span<const BitRange> ranges) {
  uint64_t all = 1;
  for (const Variation &field : shape.variations) {
    if (!is_tagged(field, ranges))
      continue;
    if (field.count > kMost)
      return 0;
    all = std::lcm(all, field.count);
    if (all > kMost)
      return 0;
  }
  return all;
}

FrameTags::FrameTags(const FrameShape &shape, const std::vector<BitRange> &ranges) {
  const uint64_t frames = std::max<uint64_t>(1, period(shape, ranges));
  std::vector<uint8_t> bytes = shape.headers; // and what of the payload is tagged
  for (const BitRange &range : ranges)
    bytes.resize(std::max(bytes.size(), size_t{range.bit + range.bits + 7} / 8));
  fill(shape.fill, std::span(bytes).subspan(shape.headers.size()));
  values_.clear();
  for (uint64_t number = 0; number < frames; number++) {
    for (const Variation &field : shape.variations)
      if (is_tagged(field, ranges))
        set_bits(bytes, field.bit, field.bits, field.value(number));
    values_.push_back(tag_values(ranges, bytes));
  }
}

} // namespace xr::packet
