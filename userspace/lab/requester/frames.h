// SPDX-License-Identifier: Apache-2.0
// The frame templates of a flow, made at first use and kept for its lifetime.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "congestion/rate_control.h"
#include "flow/flow.h"
#include "packet/template.h"

namespace xr::requester {

class FlowFrames {
public:
  // The path of `flow` must have all addresses and MACs. Keeps a reference to `flow`.
  // `headers_only`: nobody sends them, and hardly anyone asks for their bytes.
  explicit FlowFrames(const flow::Flow &flow, bool headers_only = false)
      : flow_(flow), headers_only_(headers_only) {}

  // `payload` is 0 for opcodes without payload, like ACKs. Never nullptr: check_flow rejects flows
  // that cannot be built.
  const packet::Template *of(uint8_t opcode, uint32_t payload) {
    return of(opcode, payload, flow_.rkey);
  }
  // With another R_Key than the flow's.
  const packet::Template *of(uint8_t opcode, uint32_t payload, uint32_t rkey);

  // An ACK in the direction of the flow, for GhostAck.
  const packet::Template *ack();

  // A CNP with that DSCP, always the same one.
  const packet::Template *cnp(uint8_t dscp);

private:
  packet::Template make(const packet::Path &path, uint8_t opcode, uint32_t payload,
                        uint32_t rkey) const;

  const flow::Flow &flow_;
  bool headers_only_;
  std::unordered_map<uint64_t, std::unique_ptr<packet::Template>> templates_; // by all three
  std::unique_ptr<packet::Template> cnp_;
};

// Whether a responder acknowledges.
inline bool is_reliable(uint8_t transport) {
  return transport == ROCE_RC || transport == ROCE_RD || transport == ROCE_XRC;
}

// Average frame length in bytes over the first messages of the first QP.
double average_frame(const flow::Flow &flow);
congestion::PacketSize packet_size(const flow::Flow &flow);

} // namespace xr::requester
