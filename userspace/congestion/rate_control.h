// SPDX-License-Identifier: Apache-2.0
// The rate control of one QP. The requester reports what happened; the control answers with a rate.
// Time is a parameter: nanoseconds of any clock that does not go back.
#pragma once

#include <cstdint>
#include <memory>

#include "congestion/pacing.h"

namespace xr::congestion {

class RateControl {
public:
  RateControl() = default;
  RateControl(const RateControl &) = delete;
  RateControl &operator=(const RateControl &) = delete;
  virtual ~RateControl() = default;

  // What happened on the QP. By default nothing follows from it.
  virtual void sent(uint64_t /*now*/, uint32_t /*frame_bytes*/) {}
  virtual void cnp(uint64_t /*now*/) {}

  // The rate now, in bytes or packets a second: the units of the rate that was asked for.
  virtual double rate() const = 0;
};

// How each QP of a flow is controlled.
struct Control {
  enum class Kind : uint8_t { None, Fixed }; // None: QPs have no rate of their own
  Kind kind = Kind::None;
  Rate rate; // Fixed: of each QP; not Top
};

// `rate` as RateControl::rate() gives it. Not for Kind::None.
std::unique_ptr<RateControl> make_rate_control(const Control &control, double rate);

} // namespace xr::congestion
