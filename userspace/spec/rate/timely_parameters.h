// SPDX-License-Identifier: Apache-2.0
// TIMELY's parameters, a table as DCQCN's. Its one preset is HPCC's UpdateRateTimely.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "rate/parameter.h"

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
  StartRate
};
inline constexpr size_t kTimelyParameters = 10;

std::span<const ParameterRow> timely_rows();

struct TimelyParameters final : ParameterSet {
  TimelyParameters();
  const Quantity &at(TimelyParameter p) const { return values[static_cast<size_t>(p)]; }
  std::span<const ParameterRow> rows() const override { return timely_rows(); }
  std::span<Quantity> quantities() override { return values; }
  std::string words() const override;

  std::array<Quantity, kTimelyParameters> values;
};

// For a line of that rate; bit/s and nanoseconds.
struct TimelySettings {
  double line = 0, alpha = 0, beta = 0;
  double low_ns = 0, high_ns = 0, min_rtt_ns = 0;
  double delta = 0, hyper = 0, min_rate = 0, start = 0;
  uint32_t after = 5; // increases until hyper increase
};
TimelySettings resolve(const TimelyParameters &parameters, double line_bits);

} // namespace xr::congestion
