// SPDX-License-Identifier: Apache-2.0
// TIMELY's rate control of one QP (SIGCOMM'15, Mittal et al.) as HPCC's UpdateRateTimely computes
// it: it follows the gradient of the RTT, once an RTT. With a reference RTT it is Patched TIMELY
// (CoNEXT'16, Zhu et al., "ECN or Delay", algorithm 2), whose fixed point is unique.
#pragma once

#include <cstdint>
#include <memory>

#include "congestion/rated_control.h"
#include "rate/table_parameters.h"

namespace xr::congestion {

class Timely final : public RatedControl {
public:
  explicit Timely(std::shared_ptr<const TimelySettings> settings, const xdp_roce_qp & = {})
      : RatedControl(settings->start), settings_(std::move(settings)) {}

  void acked(const Ack &ack) override {
    if (ack.rtt_ns)
      rtt(ack.now_ns, ack.rtt_ns);
  }
  void rtt(uint64_t now, uint64_t rtt_ns);
  ControlState state(uint64_t now) const override;

private:
  void increase(uint64_t now);
  void decrease(uint64_t now, double factor);
  void weigh(uint64_t now, double gradient, double rtt);

  std::shared_ptr<const TimelySettings> settings_;
  double difference_ = 0; // of RTTs, smoothed, ns
  uint64_t last_rtt_ = 0, next_ = 0, hyper_ = 0;
  uint32_t stage_ = 0;
};

} // namespace xr::congestion
