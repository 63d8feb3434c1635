// SPDX-License-Identifier: Apache-2.0
// DCTCP (SIGCOMM'10) as HPCC's simulator paces it: a rate that the share of marked packets cuts.
#pragma once

#include <cstdint>
#include <span>

#include "rate/table_parameters.h"

namespace xr::congestion {

// In the order of the rows.
enum class DctcpParameter : uint8_t { G, AlphaInitial, Ai, MinRate, StartRate };

std::span<const ParameterRow> dctcp_rows();

// For a line of that rate; bit/s.
struct DctcpSettings {
  double g = 0, alpha_initial = 1;
  double line = 0, ai = 0, min_rate = 0, start = 0;
};
DctcpSettings dctcp_settings(const TableParameters &parameters, double line_bits);

} // namespace xr::congestion
