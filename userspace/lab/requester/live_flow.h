// SPDX-License-Identifier: Apache-2.0
// A flow that the kernel's live frames can send: each of its packets is one of three templates with
// the QP's fields, its PSN and the AckReq bit. The same packets in the same order as OpenFlow's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "flow/flow.h"
#include "model/run_reports.h"
#include "roce/live.h"

namespace xr::requester {

// Error: live frames cannot be this flow's packets.
Status check_live(const flow::Flow &flow);

class LiveFlow {
public:
  // `flow` must have all addresses and MACs, pass check_flow and check_live. `line_bits` (bits per
  // second) is the base of Percent.
  LiveFlow(flow::Flow flow, double line_bits);

  const roce_live_plan &plan() const { return plan_; }
  const std::vector<roce_live_qp> &qps() const { return qps_; } // at the start
  // The frame that is recycled: its longest payload, with the headers of most packets.
  const std::vector<uint8_t> &frame() const { return frame_; }
  const flow::Flow &flow() const { return flow_; }

  uint64_t packets_to_come() const; // 0: unlimited
  double asked_pps() const;         // 0: unpaced
  // What the first `sent` packets were.
  SendCounts counts(uint64_t sent) const;

private:
  uint32_t base() const;
  void make_shape(uint32_t which, uint32_t index, class FlowFrames &frames);
  void mend();

  flow::Flow flow_;
  uint32_t packets_;
  std::vector<uint8_t> shapes_[ROCE_LIVE_SHAPES]; // of the first QP, with PSN 0
  roce_live_plan plan_{};
  std::vector<roce_live_qp> qps_;
  std::vector<uint8_t> frame_;
};

} // namespace xr::requester
