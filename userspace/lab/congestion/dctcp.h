// SPDX-License-Identifier: Apache-2.0
// DCTCP's rate control of one QP (SIGCOMM'10, Alizadeh et al.) as HPCC's simulator paces it
// (HandleAckDctcp): a rate that one cut an RTT takes by half of the share of marked packets.
#pragma once

#include <cstdint>
#include <memory>

#include "congestion/rate_control.h"
#include "rate/dctcp_parameters.h"

namespace xr::congestion {

class Dctcp final : public RateControl {
public:
  explicit Dctcp(std::shared_ptr<const DctcpSettings> settings, const xdp_roce_qp & = {})
      : settings_(std::move(settings)), rate_(settings_->start), alpha_(settings_->alpha_initial) {
    publish(rate_.rate() / 8);
  }
  void start(uint64_t now) override { rate_.start(now); }
  void cnp(uint64_t) override { cnps_++; }
  void acked(const Ack &ack) override;
  ControlState state(uint64_t now) override;

private:
  bool end_round(const Ack &ack);
  void set_rate(uint64_t now, double rate) {
    rate_.set(now, rate);
    publish(rate / 8);
  }

  std::shared_ptr<const DctcpSettings> settings_;
  Rated rate_;
  double alpha_;
  uint64_t round_end_ = 0;            // bytes: an RTT is over when they are acknowledged
  uint64_t recovered_at_ = 0;         // bytes: until they are acknowledged there is no other cut
  uint32_t packets_ = 0, marked_ = 0; // of this RTT
  uint64_t cnps_ = 0, cuts_ = 0, additive_ = 0;
};

} // namespace xr::congestion
