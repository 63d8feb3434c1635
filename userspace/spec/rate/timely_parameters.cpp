// SPDX-License-Identifier: Apache-2.0
#include "rate/timely_parameters.h"

#include <algorithm>

namespace xr::congestion {

namespace {

// `patched`: other values, no hyper increase, and T_ref.
std::vector<ParameterRow> make_timely_rows(bool patched) {
  using enum Unit;
  const char *hw = patched ? "CoNEXT'16, algorithm 2" : kHpccHw;
  const double never = 1e6;
  std::vector<ParameterRow> rows = {
      parameter_row({"alpha", "alpha", "weight of a new difference of RTTs", hw}, {Ratio}, 0, 1,
                    0.875),
      parameter_row({"beta", "beta", "strength of a decrease", hw}, {Ratio}, 0, 1,
                    patched ? 0.008 : 0.8),
      parameter_row({"t-low", "T_low", "RTTs below it always increase the rate", hw},
                    {Microseconds}, 0, 1e7, 50),
      parameter_row({"t-high", "T_high", "RTTs above it always decrease the rate", hw},
                    {Microseconds}, 0, 1e7, 500),
      parameter_row({"min-rtt", "D_minRTT", "gradients are parts of it", hw}, {Microseconds}, 0.1,
                    1e7, 20),
      parameter_row({"delta", "delta", "step of additive increase", patched ? hw : kHpccRun},
                    {LinePercent, Mbit}, 0, 1e7, 0.1, !patched),
      parameter_row({"hyper", "", "step of hyper increase", kHpccRun}, {LinePercent, Mbit}, 0, 1e7,
                    0.5, true),
      parameter_row(
          {"hyper-after", "N", "increases until hyper increase", patched ? "never there" : kHpccHw},
          {Number}, 1, 1e6, patched ? never : 5),
      parameter_row({"min-rate", "", "least rate", "HPCC config.txt, as for DCQCN"},
                    {Mbit, LinePercent}, 0, 1e7, 100, true),
      parameter_row({"start-rate", "", "rate at which a QP starts", kHpccHw}, {LinePercent, Mbit},
                    0, 1e7, 100),
  };
  if (patched)
    rows.push_back(parameter_row(
        {"t-ref", "RTT_ref", "RTT aimed at, of which errors are parts", "ours: T_low"},
        {Microseconds}, 0.1, 1e7, 50, true));
  return rows;
}

} // namespace

std::span<const ParameterRow> timely_rows() {
  static const std::vector<ParameterRow> kRows = make_timely_rows(false);
  return kRows;
}

std::span<const ParameterRow> patched_timely_rows() {
  static const std::vector<ParameterRow> kRows = make_timely_rows(true);
  return kRows;
}

TimelySettings timely_settings(const TableParameters &parameters, double line) {
  using enum TimelyParameter;
  const auto value = [&](TimelyParameter p) { return parameters.at(p).value; };
  TimelySettings s;
  s.line = line;
  s.alpha = value(Alpha);
  s.beta = value(Beta);
  s.low_ns = value(TLow) * 1000;
  s.high_ns = value(THigh) * 1000;
  s.min_rtt_ns = value(MinRtt) * 1000;
  s.delta = rate_bits(parameters.at(Delta), line);
  s.hyper = rate_bits(parameters.at(Hyper), line);
  s.after = static_cast<uint32_t>(value(After));
  s.min_rate = std::min(line, rate_bits(parameters.at(MinRate), line));
  s.start = std::clamp(rate_bits(parameters.at(StartRate), line), s.min_rate, line);
  if (parameters.rows().size() > static_cast<size_t>(TRef))
    s.reference_ns = value(TRef) * 1000;
  return s;
}

} // namespace xr::congestion
