// SPDX-License-Identifier: Apache-2.0
// A pacer for each QP of a flow, with a rate control of its own. Virtual time, in nanoseconds. QPs
// are numbered from 0.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "congestion/rate_control.h"
#include "congestion/timing_wheel.h"

namespace xr::congestion {

class QpPacing {
public:
  // `line_bits` a second are what Percent refers to. Control::Kind::None is not for this class.
  QpPacing(uint32_t qps, const Control &control, double line_bits);

  // The first packet of QP i is due i/qps of an interval of full frames after `start`.
  void start(uint64_t start, uint32_t frame_bytes);

  // When the QP may send its next packet.
  uint64_t due(uint32_t qp) const { return qps_[qp].due; }
  // A frame of so many bytes (without FCS) of the QP was sent at `now`.
  void sent(uint32_t qp, uint64_t now, uint32_t frame_bytes);
  // A CNP for the QP arrived.
  void cnp(uint32_t qp, uint64_t now) { qps_[qp].control->cnp(now); }

  // QPs that wait for their time: each at most once.
  void wait(uint32_t qp) { wheel_.add(qp, qps_[qp].due); }
  bool any_waits() const { return !wheel_.empty(); }
  // Takes out a QP that is due; false: there is none.
  bool take_due(uint64_t now, uint32_t &qp) { return wheel_.take(now, qp); }
  // Not after the time when the next of them is due; kNever: none waits.
  uint64_t next_due() const { return wheel_.next(); }

  // Lost by QPs that were late by more than kPatienceNs.
  uint64_t slipped_ns() const { return slipped_; }
  // Packets a second of all QPs, for frames of that size, and at most `flow_pps` (0: no limit).
  double asked_pps(double frame_bytes, double flow_pps = 0) const;

private:
  struct Qp {
    uint64_t due = 0;
    double fraction = 0; // of a nanosecond, not yet in `due`
    std::unique_ptr<RateControl> control;
  };

  double units(double frame_bytes) const { return frame_bytes * per_byte_ + per_packet_; }
  void advance(Qp &qp, double ns);

  double per_byte_ = 0, per_packet_ = 0; // units of a frame: bytes of the layer, or packets
  std::vector<Qp> qps_;
  TimingWheel wheel_;
  uint64_t slipped_ = 0;
};

} // namespace xr::congestion
