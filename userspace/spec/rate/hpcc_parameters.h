// SPDX-License-Identifier: Apache-2.0
// HPCC (SIGCOMM'19) as UpdateRateHp of its simulator computes it: switches say how busy each hop
// is.
#pragma once

#include <cstdint>
#include <span>

#include "rate/table_parameters.h"

namespace xr::congestion {

// In the order of the rows.
enum class HpccParameter : uint8_t { Eta, MaxStage, Ai, MinRate, BaseRtt, FastReact, VaryWindow };

std::span<const ParameterRow> hpcc_rows();

// For a line of that rate; bit/s and nanoseconds.
struct HpccSettings {
  double line = 0, eta = 0, ai = 0, min_rate = 0;
  uint64_t base_rtt_ns = 0; // 0: the path's
  uint32_t max_stage = 0;
  bool fast_react = true, vary_window = true;
};
HpccSettings hpcc_settings(const TableParameters &parameters, double line_bits);

} // namespace xr::congestion
