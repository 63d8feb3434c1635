// SPDX-License-Identifier: Apache-2.0
// Whether a frame has the headers of a shape, for frames that have no room for a stamp. What
// networks change does not count: of IP packets the MACs, tags, TTL and ECN. Nor do lengths and
// checksums, nor the order of fields that vary.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packet/frame_shape.h"

namespace xr::packet {

class HeaderMatch {
public:
  // `macs`: the addresses in an Ethernet header of the shape are those of its frames.
  explicit HeaderMatch(const FrameShape &shape, bool macs = true);

  // `frame`: without FCS.
  bool holds(std::span<const uint8_t> frame) const;
  // The bits that all its frames have, the others 0.
  const std::vector<uint8_t> &value() const { return value_; }
  // The headers of both are the same.
  bool operator==(const HeaderMatch &) const = default;

private:
  bool ip_ = false;
  std::vector<uint8_t> value_, mask_; // from the IP header on, or of the whole frame
  std::vector<Variation> variations_; // their bits from there
};

} // namespace xr::packet
