// SPDX-License-Identifier: Apache-2.0
#include "packet/frame_schedule.h"

#include <algorithm>
#include <cmath>

#include "base/draw.h"

namespace xr::packet {

uint32_t FrameSizes::of(uint64_t number) const {
  uint32_t size = from;
  switch (kind) {
  case Kind::Fixed:
    break;
  case Kind::Increment:
    if (to > from && step)
      size += static_cast<uint32_t>(number % ((to - from) / step + 1)) * step;
    break;
  case Kind::Random:
    if (to > from)
      size += static_cast<uint32_t>(draw_below(seed, number, to - from + 1));
    break;
  case Kind::Weighted: {
    double all = 0;
    for (const WeightedSize &one : weighted)
      all += one.weight;
    double at = draw_real(seed, number) * all;
    for (const WeightedSize &one : weighted) {
      if (one.weight <= 0)
        continue;
      size = one.size;
      if (at < one.weight)
        break;
      at -= one.weight;
    }
    break;
  }
  }
  return std::max(size, least);
}

uint32_t FrameSizes::smallest() const {
  if (kind != Kind::Weighted)
    return from;
  uint32_t size = UINT32_MAX;
  for (const WeightedSize &one : weighted)
    size = std::min(size, one.size);
  return size;
}

uint32_t FrameSizes::largest() const {
  uint32_t size = kind == Kind::Fixed ? from : std::max(from, to);
  if (kind == Kind::Weighted) {
    size = 0;
    for (const WeightedSize &one : weighted)
      size = std::max(size, one.size);
  }
  return std::max(size, least);
}

uint64_t LineTime::ns(uint64_t line_bits) const {
  if (!bytes)
    return static_cast<uint64_t>(std::llround(value));
  return line_bits
             ? static_cast<uint64_t>(std::llround(value * 8e9 / static_cast<double>(line_bits)))
             : 0;
}

} // namespace xr::packet
