// SPDX-License-Identifier: Apache-2.0
#include "requester/frames.h"

#include <stdexcept>

namespace xr::requester {

const packet::Template *FlowFrames::of(uint8_t opcode, uint32_t payload) {
  std::unique_ptr<packet::Template> &kept = templates_[uint64_t{opcode} << 32 | payload];
  if (!kept) {
    const bool padded = flow_.extra_pad && payload == flow_.pmtu;
    auto made =
        packet::Template::make(flow_.path, flow_.headers(opcode), packet::counting_payload(payload),
                               padded ? static_cast<int>(flow_.extra_pad) : -1);
    if (!made)
      throw std::logic_error("a flow that was checked has no frames: " + made.error().message);
    kept = std::make_unique<packet::Template>(std::move(made).get());
  }
  return kept.get();
}

const packet::Template *FlowFrames::ack() {
  return of(flow_.transport == ROCE_XRC ? ROCE_XRC_ACKNOWLEDGE : ROCE_RC_ACKNOWLEDGE, 0);
}

} // namespace xr::requester
