// SPDX-License-Identifier: Apache-2.0
// HPCC (SIGCOMM'19) as UpdateRateHp of its simulator computes it: switches say how busy each hop
// is.
#pragma once

#include <cstdint>
#include <span>

#include "rate/table_parameters.h"

namespace xr::congestion {

// In the order of the rows.
enum class HpccParameter : uint8_t {
  Eta,
  MaxStage,
  Ai,
  MinRate,
  BaseRtt,
  FastReact,
  VaryWindow,
  Int,
  IntMulti,
  Flows
};

std::span<const ParameterRow> hpcc_rows();

// For a line of that rate; bit/s and nanoseconds.
struct HpccSettings {
  double line = 0, eta = 0, ai = 0, min_rate = 0;
  uint64_t base_rtt_ns = 0; // 0: the path's
  uint32_t max_stage = 0;
  bool fast_react = true, vary_window = true;
  // The units of INT in bytes, as its header has them; 0: exact numbers.
  uint64_t int_queue_unit = 0, int_bytes_unit = 0;
};
HpccSettings hpcc_settings(const TableParameters &parameters, double line_bits);

} // namespace xr::congestion
