// SPDX-License-Identifier: Apache-2.0
// The rate control of one QP. The requester reports what happened; the control answers with a rate
// and with the time when that rate will change by itself. Time is a parameter: nanoseconds of any
// clock that does not go back.
#pragma once

#include <cstdint>
#include <memory>

#include "rate/control.h"

namespace xr::congestion {

// What a control has done so far. Rates are in bit/s; those of Fixed are in the units of its rate.
struct ControlState {
  double rate = 0, target = 0;
  double alpha = 0;         // DCQCN
  double rate_seconds = 0;  // the integral of the rate since start(): the mean is this / duration
  uint64_t cnps = 0;        // received
  uint64_t cuts = 0;        // decreases of the rate
  uint64_t cnps_unused = 0; // CNPs that the largest rate of cuts made ineffective
  // Increases by stage. TIMELY has no fast recovery.
  uint64_t fast = 0, additive = 0, hyper = 0;
};

class RateControl {
public:
  static constexpr uint64_t kNever = UINT64_MAX;

  RateControl() = default;
  RateControl(const RateControl &) = delete;
  RateControl &operator=(const RateControl &) = delete;
  virtual ~RateControl() = default;

  // The QP begins at `now`: before it, nothing else may be reported.
  virtual void start(uint64_t /*now*/) {}

  // What happened on the QP. By default nothing follows from it.
  virtual void sent(uint64_t /*now*/, uint32_t /*frame_bytes*/) {}
  virtual void cnp(uint64_t /*now*/) {}
  virtual void rtt(uint64_t /*now*/, uint64_t /*rtt_ns*/) {}

  // When the rate changes next if nothing happens; kNever: it does not. A late wake() (or any other
  // report) makes up for all times before `now`, in their order.
  uint64_t wake_at() const { return next_wake_; }
  virtual void wake(uint64_t /*now*/) {}

  // The rate as of the last report, in bytes or packets a second: the units of the rate that was
  // asked for.
  double rate() const { return asked_; }
  virtual ControlState state(uint64_t now) = 0;

protected:
  // What rate() and wake_at() return from now on: they are read for each packet.
  void publish(double rate, uint64_t wake_at = kNever) {
    asked_ = rate;
    next_wake_ = wake_at;
  }

private:
  double asked_ = 0;
  uint64_t next_wake_ = kNever;
};

// Makes the controls of a flow's QPs. The parameters are resolved for the line once and shared.
class RateControlMaker {
public:
  // `rate` as RateControl::rate() gives it: of a QP (Fixed), or of the line. Not for Kind::None.
  RateControlMaker(const Control &control, double rate);
  std::unique_ptr<RateControl> make() const;

private:
  Control::Kind kind_;
  double rate_;
  std::shared_ptr<const DcqcnSettings> dcqcn_;
  std::shared_ptr<const TimelySettings> timely_;
};

// One control of its own.
std::unique_ptr<RateControl> make_rate_control(const Control &control, double rate);

} // namespace xr::congestion
