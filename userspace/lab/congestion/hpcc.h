// SPDX-License-Identifier: Apache-2.0
// HPCC's rate control of one QP (SIGCOMM'19, Li et al.) as UpdateRateHp of its simulator computes
// it: from what each hop says of itself, the utilisation of the busiest one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "congestion/rated_control.h"
#include "rate/table_parameters.h"

namespace xr::congestion {

class Hpcc final : public RatedControl {
public:
  static constexpr uint32_t kMostHops = 8;

  Hpcc(std::shared_ptr<const HpccSettings> settings, const xdp_roce_qp &qp);
  void acked(const Ack &ack) override;
  ControlState state(uint64_t now) const override;
  std::span<const char *const> names() const override;
  void read(uint64_t now, double *values) override;

private:
  // The hop that is used most, since the last ACK.
  struct Busiest {
    double utilisation = 0;
    uint64_t tau_ns = 0;
  };
  // What two reports of one hop say: time, bytes sent, the lesser queue.
  struct Difference {
    uint64_t tau_ns, bytes, queue;
  };
  Difference difference(const xdp_roce_hop &hop, const xdp_roce_hop &before) const;
  Busiest busiest(const Ack &ack) const;
  void update(const Ack &ack, bool new_round);
  void set_rate(uint64_t now, double rate);

  std::shared_ptr<const HpccSettings> settings_;
  double base_; // the rate that rounds change, bit/s
  double utilisation_ = 0;
  uint64_t base_rtt_ns_;
  double bdp_;             // bytes of the line's rate in the base RTT
  uint64_t round_end_ = 0; // bytes
  uint32_t stage_ = 0, hop_count_ = 0, least_window_;
  std::array<xdp_roce_hop, kMostHops> hops_{};
};

} // namespace xr::congestion
