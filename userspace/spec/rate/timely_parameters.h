// SPDX-License-Identifier: Apache-2.0
// TIMELY's parameters: HPCC's UpdateRateTimely, and the patched form of CoNEXT'16.
#pragma once

#include <cstdint>
#include <span>

#include "rate/table_parameters.h"

namespace xr::congestion {

// In the order of the rows.
enum class TimelyParameter : uint8_t {
  Alpha,
  Beta,
  TLow,
  THigh,
  MinRtt,
  Delta,
  Hyper,
  After,
  MinRate,
  StartRate,
  TRef, // patched only
};

std::span<const ParameterRow> timely_rows();
// Patched TIMELY (CoNEXT'16, "ECN or Delay"): other values, and T_ref.
std::span<const ParameterRow> patched_timely_rows();

// For a line of that rate; bit/s and nanoseconds.
struct TimelySettings {
  double line = 0, alpha = 0, beta = 0;
  double low_ns = 0, high_ns = 0, min_rtt_ns = 0;
  double delta = 0, hyper = 0, min_rate = 0, start = 0;
  uint32_t after = 5;      // increases until hyper increase
  double reference_ns = 0; // patched: the RTT aimed at; 0: as HPCC has it
};
TimelySettings timely_settings(const TableParameters &parameters, double line_bits); // of either

} // namespace xr::congestion
