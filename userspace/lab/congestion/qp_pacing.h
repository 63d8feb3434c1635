// SPDX-License-Identifier: Apache-2.0
// A pacer for each QP of a flow, with a rate control of its own. Virtual time, in nanoseconds. QPs
// are numbered from 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/prefetch.h"
#include "congestion/rate_control.h"
#include "congestion/timing_wheel.h"

namespace xr::congestion {

// A QP under control that is late by more than this loses the rest: it must not make up for a stall
// with a burst at the line's rate.
inline constexpr uint64_t kDynamicPatienceNs = 1'000'000;

class QpPacing {
public:
  // `line_bits` a second are what Percent refers to, and the line's rate where `control` has none.
  // Control::Kind::None is not for this class.
  QpPacing(uint32_t qps, const Control &control, double line_bits, const PacketSize &packet = {});

  // The first packet of QP i is due i/qps of an interval of full frames after `start`.
  void start(uint64_t start, uint32_t frame_bytes);

  // A QP that comes later: its number. Its first packet is due at `now`.
  uint32_t add(uint64_t now);
  // The number is used for another QP from `now` on. It does not wait.
  void begin_anew(uint32_t qp, uint64_t now);

  // When the QP may send its next packet.
  uint64_t due(uint32_t qp) const { return qps_[qp].due; }
  // A frame of so many bytes (without FCS) of the QP was sent at `now`.
  void sent(uint32_t qp, uint64_t now, uint32_t frame_bytes);
  // A CNP for the QP arrived; an ACK; a NAK or a timeout.
  void cnp(uint32_t qp, uint64_t now);
  void acked(uint32_t qp, const Ack &ack);
  void lost(uint32_t qp, uint64_t now, Loss loss);
  // Bytes of payload: the QP may send while fewer are in flight.
  uint64_t window(uint32_t qp) const { return qps_[qp].window; }
  // Another value: the QP takes another path.
  uint32_t path(uint32_t qp) const { return qps_[qp].control->path(); }
  // The QP had nothing to send until `now`. Where the rate is controlled, it does not catch up.
  void resume(uint32_t qp, uint64_t now);
  // The QP sends nothing before `now`, with any control.
  void not_before(uint32_t qp, uint64_t now);

  // QPs that wait for their time: each at most once.
  void wait(uint32_t qp) {
    if (wheel_)
      wheel_->add(qp, wake_of(qps_[qp]));
    else
      one_waits_ = true;
  }
  bool any_waits() const { return wheel_ ? !wheel_->empty() : one_waits_; }
  // Takes out a QP that is due; false: there is none.
  bool take_due(uint64_t now, uint32_t &qp) {
    return wheel_ ? take_from_wheel(now, qp) : one_waits_ && take_one(now, qp);
  }
  // Not after the time when the next of them is due; kNever: none waits.
  uint64_t next_due() const {
    if (wheel_)
      return wheel_->next();
    return one_waits_ ? wake_of(qps_.front()) : UINT64_MAX;
  }

  // For one with one QP: asks for its memory, then for that of its control.
  void prefetch(unsigned step) const {
    if (step == 0)
      xr::prefetch(qps_.front());
    else
      xr::prefetch(qps_.front().control.get(), 4 * kCacheLine);
  }

  // Whether rates change: all but Control::Kind::Fixed.
  bool dynamic() const { return dynamic_; }
  uint32_t qps() const { return static_cast<uint32_t>(qps_.size()); }
  RateControl &control(uint32_t qp) { return *qps_[qp].control; }
  ControlState state(uint32_t qp, uint64_t now) const { return qps_[qp].control->state(now); }
  uint64_t begun(uint32_t qp) const { return qps_[qp].begun; }

  // Lost by QPs that were late by more than kPatienceNs, or kDynamicPatienceNs.
  uint64_t slipped_ns() const { return slipped_; }
  // Packets a second of all QPs, for frames of that size, and at most `flow_pps` (0: no limit).
  // Rates that change are nobody's request: `flow_pps`.
  double asked_pps(double frame_bytes, double flow_pps = 0) const;

private:
  struct Qp {
    uint64_t due = 0;
    uint64_t wake_at = kNever; // of `control`, as of its last report
    uint64_t begun = 0;
    uint64_t window = XDP_ROCE_UNLIMITED; // as of the last report
    double fraction = 0;                  // of a nanosecond, not yet in `due`
    double owed = 0;                      // ns, of the packets of a burst
    uint32_t burst = 0;                   // packets of the burst so far
    std::unique_ptr<RateControl> control;
  };

  double units(double frame_bytes) const { return frame_bytes * per_byte_ + per_packet_; }
  uint64_t wake_of(const Qp &qp) const { return dynamic_ ? std::min(qp.due, qp.wake_at) : qp.due; }
  bool take_from_wheel(uint64_t now, uint32_t &qp);
  bool take_one(uint64_t now, uint32_t &qp);
  void advance(Qp &qp, double ns);
  void wake(Qp &qp, uint64_t now);
  void stretch(Qp &qp, uint64_t now, double before);
  template <class Report> void report(Qp &qp, uint64_t now, Report report);
  uint64_t window_of(const RateControl &control) const;

  double per_byte_ = 0, per_packet_ = 0; // units of a frame: bytes of the layer, or packets
  bool dynamic_ = false;
  uint32_t burst_ = 1;
  Window window_;
  double window_bytes_ = 0; // of window_, at the line's rate
  double line_ = 0;         // in the units of RateControl::rate()
  uint32_t payload_ = 0;
  RateControlMaker maker_;
  std::vector<Qp> qps_;
  std::unique_ptr<TimingWheel> wheel_; // nullptr: there is one QP
  bool one_waits_ = false;
  uint64_t slipped_ = 0;
};

} // namespace xr::congestion
