// SPDX-License-Identifier: Apache-2.0
// Swift (SIGCOMM'20): a window that keeps the delay at a target. Constants of htsim, whose comments
// call them guesses.
#pragma once

#include <cstdint>
#include <span>

#include "rate/table_parameters.h"

namespace xr::congestion {

// In the order of the rows.
enum class SwiftParameter : uint8_t {
  Ai,
  Beta,
  MaxMdf,
  BaseTarget,
  HopScale,
  FsRange,
  FsMin,
  FsMax,
  MinWindow,
  MaxWindow,
  StartWindow,
  KillAfter,
  PlbAfter
};

std::span<const ParameterRow> swift_rows();

// For a line of that rate; windows in packets, nanoseconds.
struct SwiftSettings {
  double line = 0, ai = 1, beta = 0, max_mdf = 0;
  double base_target_ns = 0, hop_ns = 0, fs_range_ns = 0, fs_alpha = 0, fs_beta = 0;
  double min_window = 0, max_window = 0, start_window = 0;
  uint32_t kill_after = 0, plb_after = 0;
};
SwiftSettings swift_settings(const TableParameters &parameters, double line_bits);

} // namespace xr::congestion
