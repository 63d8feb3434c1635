// SPDX-License-Identifier: Apache-2.0
// The frames of a flow as templates, made when they are first wanted and kept as long as it lives.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "flow/flow.h"
#include "packet/template.h"

namespace xr::requester {

class FlowFrames {
public:
  // The flow's path is whole: addresses and MACs are in it.
  explicit FlowFrames(const flow::Flow &flow) : flow_(flow) {}

  // For the flow's verbs any payload is right; others (ACKs, ghost ones too) have none. nullptr
  // never: flows that cannot be built are refused by check_flow before.
  const packet::Template *of(uint8_t opcode, uint32_t payload);

  // An ACK in the flow's direction, as a ghost is.
  const packet::Template *ack();

private:
  const flow::Flow &flow_;
  std::unordered_map<uint64_t, std::unique_ptr<packet::Template>> templates_;
};

} // namespace xr::requester
