// SPDX-License-Identifier: Apache-2.0
// How each QP of a flow is controlled: the kind and its parameters, a value. RateControl
// (congestion/) acts on it.
#pragma once

#include <cstdint>
#include <span>

#include "rate/dcqcn_parameters.h"
#include "rate/pacing.h"
#include "rate/timely_parameters.h"

namespace xr::congestion {

// How each QP of a flow is controlled.
struct Control {
  enum class Kind : uint8_t { None, Fixed, Dcqcn, Timely }; // None: QPs have no rate of their own
  Kind kind = Kind::None;
  // Fixed: of each QP; not Top. Others: the line's rate, at which a QP starts; Top: the port's.
  Rate rate = {};
  uint32_t burst = 1; // packets of a QP that are sent at once; the pause after them is as long
  DcqcnParameters dcqcn = {};
  TimelyParameters timely = {};

  // Those of `kind`; null: it has none.
  ParameterSet *parameters();
  const ParameterSet *parameters() const { return const_cast<Control *>(this)->parameters(); }
  // Whether the rate changes by itself: it starts at the line's rate.
  bool is_dynamic() const { return parameters() != nullptr; }
  bool needs_rtt() const;   // RTTs, which only ACKs give
  const char *word() const; // after `cc`; not for None
};

// What is common to the controls of a kind.
struct ControlRow {
  Control::Kind kind;
  const char *word; // after `cc`
  bool needs_rtt;
  const char *about; // "": its presets say it
};
// All but None, in the order of `cc list`.
std::span<const ControlRow> control_rows();

} // namespace xr::congestion
