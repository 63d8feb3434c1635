// SPDX-License-Identifier: Apache-2.0
// The rate control of one QP. The requester reports what happened; the control answers with a rate,
// a window, and the time when these will change by themselves. Time is a parameter: nanoseconds of
// any clock that does not go back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/time.h"
#include "rate/control.h"
#include "xdp-roce/congestion.h"

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

using Ack = xdp_roce_ack;
using Loss = xdp_roce_loss;

class RateControl {
public:
  RateControl() = default;
  RateControl &operator=(const RateControl &) = delete;
  virtual ~RateControl() = default;

  // The QP begins at `now`: before it, nothing else may be reported.
  virtual void start(uint64_t /*now*/) {}

  // What happened on the QP. By default nothing follows from it.
  virtual void sent(uint64_t /*now*/, uint32_t /*frame_bytes*/) {}
  virtual void cnp(uint64_t /*now*/) {}
  virtual void acked(const Ack &) {}
  virtual void lost(uint64_t /*now*/, Loss) {}

  // When the rate changes next if nothing happens; kNever: it does not. A late wake() (or any other
  // report) makes up for all times before `now`, in their order.
  uint64_t wake_at() const { return next_wake_; }
  virtual void wake(uint64_t /*now*/) {}

  // The rate as of the last report, in bytes or packets a second: the units of the rate that was
  // asked for.
  double rate() const { return asked_; }
  // Bytes of payload: the QP may send while fewer are in flight, and one packet in any case.
  uint64_t window() const { return window_; }
  // Another value: the QP takes another path.
  uint32_t path() const { return path_; }
  // The state at `now`; asking changes nothing.
  virtual ControlState state(uint64_t now) const = 0;
  // Further values for series: their names, and as many numbers.
  virtual std::span<const char *const> names() const { return {}; }
  virtual void read(uint64_t /*now*/, double * /*values*/) {}

protected:
  RateControl(const RateControl &) = default;

  // What rate() and wake_at() return from now on: they are read for each packet.
  void publish(double rate, uint64_t wake_at = kNever) {
    asked_ = rate;
    next_wake_ = wake_at;
  }
  void limit(uint64_t window) { window_ = window; }
  void take_path(uint32_t path) { path_ = path; }

private:
  double asked_ = 0;
  uint64_t next_wake_ = kNever;
  uint64_t window_ = XDP_ROCE_UNLIMITED;
  uint32_t path_ = 0;
};

// A full packet of a flow, in bytes: its payload, and as rates count it.
struct PacketSize {
  uint32_t payload = 1024, frame = 1082;
};

// Makes the controls of a flow's QPs. The parameters are resolved for the line once and shared.
class RateControlMaker {
public:
  // `rate` as RateControl::rate() gives it: of a QP (Fixed), or of the line. Not for Kind::None.
  RateControlMaker(const Control &control, double rate, const PacketSize &packet = {});
  std::unique_ptr<RateControl> make() const { return make_(); }

private:
  std::function<std::unique_ptr<RateControl>()> make_;
};

} // namespace xr::congestion
