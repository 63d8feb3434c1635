// SPDX-License-Identifier: Apache-2.0
// Copa (NSDI'18): a window whose rate is 1 / (delta x queueing delay) packets a second. Without its
// competitive mode.
#pragma once

#include <cstdint>
#include <span>

#include "rate/table_parameters.h"

namespace xr::congestion {

// In the order of the rows.
enum class CopaParameter : uint8_t { Delta, MinWindow, StartWindow, MinRttWindow };

std::span<const ParameterRow> copa_rows();

// For a line of that rate; windows in packets, nanoseconds.
struct CopaSettings {
  double line = 0, delta = 0.5, min_window = 0, start_window = 0;
  uint64_t min_rtt_window_ns = 0;
};
CopaSettings copa_settings(const TableParameters &parameters, double line_bits);

} // namespace xr::congestion
