// SPDX-License-Identifier: Apache-2.0
// DCTCP's rate control of one QP (SIGCOMM'10, Alizadeh et al.) as HPCC's simulator paces it
// (HandleAckDctcp): a rate that one cut an RTT takes by half of the share of marked packets.
#pragma once

#include <cstdint>
#include <memory>

#include "congestion/rated_control.h"
#include "rate/table_parameters.h"

namespace xr::congestion {

class Dctcp final : public RatedControl {
public:
  explicit Dctcp(std::shared_ptr<const DctcpSettings> settings, const xdp_roce_qp & = {})
      : RatedControl(settings->start), settings_(std::move(settings)),
        alpha_(settings_->alpha_initial) {}
  void acked(const Ack &ack) override;
  ControlState state(uint64_t now) const override;

private:
  bool end_round(const Ack &ack);

  std::shared_ptr<const DctcpSettings> settings_;
  double alpha_;
  uint64_t round_end_ = 0;            // bytes: an RTT is over when they are acknowledged
  uint64_t recovered_at_ = 0;         // bytes: until they are acknowledged there is no other cut
  uint32_t packets_ = 0, marked_ = 0; // of this RTT
};

} // namespace xr::congestion
