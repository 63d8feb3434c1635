// SPDX-License-Identifier: Apache-2.0
// Packets of a flow with listed opcodes: requests, responses, CNPs or reserved opcodes, in turn.
#include "requester/open_flow.h"
#include "roce/psn.h"

namespace xr::requester {

namespace {

// Requests that are acknowledged.
bool may_ask(uint8_t opcode) {
  const uint32_t info = roce_opcode_info[opcode];
  if ((opcode & ROCE_TRANSPORT_MASK) == ROCE_RD)
    return (info & ROCE_HAS_DETH) != 0;
  const uint8_t transport = opcode & ROCE_TRANSPORT_MASK;
  return (info & ROCE_OP_REQUEST) && (transport == ROCE_RC || transport == ROCE_XRC);
}

} // namespace

// Each packet is a message and uses one PSN, except CNPs: their PSN is 0 (IBA annex A17.9.3).
uint32_t OpenFlow::make_listed(packet::Outgoing &out, From &from, SendCounts &counts) {
  Qp &qp = qps_[at_];
  const auto segment = flow_.segment(qp.size, 0, qp.message);
  const bool cnp = segment.opcode == ROCE_OPCODE_CNP;
  const bool ends = roce_opcode_info[segment.opcode] & ROCE_OP_ENDS_MESSAGE;
  from.qp = qp.number;
  fill(out, qp);
  out.shape = frames_.of(segment.opcode, segment.payload);
  out.fields.sequence = qp.sequence;
  qp.sequence += out.shape->stamped();
  if (cnp)
    out.fields.psn = 0;
  else
    qp.psn = roce_psn_add(qp.psn, 1);
  const bool ask = !cnp && asks(qp, ends) && may_ask(segment.opcode);
  out.fields.ack_req = flow_.bth.ack_req.value_or(ask);
  out.fields.aeth =
      uint32_t{flow_.syndrome} << 24 | (static_cast<uint32_t>(qp.message) & ROCE_PSN_MASK);
  out.fields.dma_len = qp.size;
  end_message(qp, counts);
  from.last = qp.packets == 0;
  next_turn();
  return out.shape->size();
}

} // namespace xr::requester
