// SPDX-License-Identifier: Apache-2.0
// Writes frames of a FrameShape one after the other, for senders of millions a second.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packet/frame_shape.h"
#include "packet/trailer.h"

namespace xr::packet {

class VariedFrame {
public:
  // `largest`: the size of the largest frame, without FCS as all sizes here.
  VariedFrame(FrameShape shape, uint32_t largest);

  // Frames of one size are all the same.
  bool constant() const { return shape_.variations.empty() && !shape_.stamped; }
  // A frame of this size has a stamp: it was asked for, and there is room.
  bool stamped(uint32_t size) const;

  // Writes frame `number`, with its lengths and checksums, to the first `size` bytes of `out`. From
  // shape.shortest() to `largest`. `stamp` is written where stamped(size).
  void write(uint64_t number, uint32_t size, std::span<uint8_t> out,
             const Trailer &stamp = {}) const;

private:
  FrameShape shape_;
  std::vector<uint8_t> bytes_; // headers and payload of the largest frame
};

} // namespace xr::packet
