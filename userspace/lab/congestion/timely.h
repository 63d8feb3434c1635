// SPDX-License-Identifier: Apache-2.0
// TIMELY's rate control of one QP (SIGCOMM'15, Mittal et al.) as HPCC's UpdateRateTimely computes
// it: it follows the gradient of the RTT, once an RTT.
#pragma once

#include <cstdint>
#include <memory>

#include "congestion/rate_control.h"

namespace xr::congestion {

class Timely final : public RateControl {
public:
  explicit Timely(std::shared_ptr<const TimelySettings> settings)
      : settings_(std::move(settings)), rate_(settings_->start) {
    publish(rate_ / 8);
  }

  void start(uint64_t now) override {
    since_ = now;
    area_ = 0;
  }
  void cnp(uint64_t) override { cnps_++; }
  void rtt(uint64_t now, uint64_t rtt_ns) override;
  ControlState state(uint64_t now) override;

private:
  void increase(uint64_t now);
  void decrease(uint64_t now, double factor);
  void set_rate(uint64_t now, double rate);

  std::shared_ptr<const TimelySettings> settings_;
  double rate_, area_ = 0; // bit/s, bit
  double difference_ = 0;  // of RTTs, smoothed, ns
  uint64_t since_ = 0, last_rtt_ = 0, next_ = 0;
  uint32_t stage_ = 0, cnps_ = 0, cuts_ = 0, additive_ = 0, hyper_ = 0;
};

} // namespace xr::congestion
