// SPDX-License-Identifier: Apache-2.0
// Swift's window of one QP (SIGCOMM'20, Kumar et al.) as htsim's swift.cpp has it: additive
// increase while the delay is below a target, one cut an RTT by the distance from it. A window
// below one packet is a pause between packets. PLB takes another path when several RTTs were
// congested.
#pragma once

#include <cstdint>
#include <memory>

#include "congestion/rated_control.h"
#include "congestion/window_use.h"
#include "rate/table_parameters.h"

namespace xr::congestion {

class Swift final : public RatedControl {
public:
  Swift(std::shared_ptr<const SwiftSettings> settings, const xdp_roce_qp &qp);
  void acked(const Ack &ack) override;
  void lost(uint64_t now, Loss loss) override;
  std::span<const char *const> names() const override;
  void read(uint64_t now, double *values) override;

  // The delay aimed at with a window of so many packets, in ns.
  double target_ns(double window) const;

private:
  void set_window(uint64_t now, double window);
  void cut(uint64_t now, double factor);
  void end_round(const Ack &ack);

  std::shared_ptr<const SwiftSettings> settings_;
  WindowUse use_;
  double window_ = 1;     // packets
  double smoothed_ = 0;   // RTT, ns
  double path_target_ns_; // without the term of flows
  uint32_t payload_, frame_;
  uint64_t may_cut_at_ = 0, round_end_ = 0;
  bool good_delay_ = false; // in this RTT
  uint32_t congested_rounds_ = 0, timeouts_ = 0, paths_ = 0;
};

} // namespace xr::congestion
