// SPDX-License-Identifier: Apache-2.0
#include "rate/timely_parameters.h"

#include <algorithm>

#include <fmt/format.h>

namespace xr::congestion {

namespace {

constexpr const char *kHw = "HPCC rdma-hw.cc";
constexpr const char *kRun = "HPCC run.py";

ParameterRow row(const char *name, const char *symbol, std::vector<Unit> units, double least,
                 double most, const char *meaning, double value, const char *source,
                 bool assumed = false) {
  const Quantity quantity{value, units.front()};
  return {name, symbol, std::move(units), least, most, meaning, {}, {{quantity, source, assumed}}};
}

std::vector<ParameterRow> make_rows() {
  using enum Unit;
  return {
      row("alpha", "alpha", {Ratio}, 0, 1, "weight of a new difference of RTTs", 0.875, kHw),
      row("beta", "beta", {Ratio}, 0, 1, "strength of a decrease", 0.8, kHw),
      row("t-low", "T_low", {Microseconds}, 0, 1e7, "RTTs below it always increase the rate", 50,
          kHw),
      row("t-high", "T_high", {Microseconds}, 0, 1e7, "RTTs above it always decrease the rate", 500,
          kHw),
      row("min-rtt", "D_minRTT", {Microseconds}, 0.1, 1e7, "gradients are parts of it", 20, kHw),
      row("delta", "delta", {LinePercent, Mbit}, 0, 1e7, "step of additive increase", 0.1, kRun,
          true),
      row("hyper", "", {LinePercent, Mbit}, 0, 1e7, "step of hyper increase", 0.5, kRun, true),
      row("hyper-after", "N", {Number}, 1, 1e6, "increases until hyper increase", 5, kHw),
      row("min-rate", "", {Mbit, LinePercent}, 0, 1e7, "least rate", 100,
          "HPCC config.txt, as for DCQCN", true),
      row("start-rate", "", {LinePercent, Mbit}, 0, 1e7, "rate at which a QP starts", 100, kHw),
  };
}

double bits_of(const Quantity &q, double line) {
  return q.unit == Unit::LinePercent ? line * q.value / 100 : q.value * 1e6;
}

} // namespace

std::span<const ParameterRow> timely_rows() {
  static const std::vector<ParameterRow> kRows = make_rows();
  return kRows;
}

TimelyParameters::TimelyParameters() {
  for (size_t i = 0; i < values.size(); i++)
    values[i] = timely_rows()[i].defaults[0].quantity;
}

std::string TimelyParameters::words() const {
  return assignments(rows(), values, TimelyParameters().values);
}

TimelySettings resolve(const TimelyParameters &parameters, double line) {
  using enum TimelyParameter;
  const auto value = [&](TimelyParameter p) { return parameters.at(p).value; };
  TimelySettings s;
  s.line = line;
  s.alpha = value(Alpha);
  s.beta = value(Beta);
  s.low_ns = value(TLow) * 1000;
  s.high_ns = value(THigh) * 1000;
  s.min_rtt_ns = value(MinRtt) * 1000;
  s.delta = bits_of(parameters.at(Delta), line);
  s.hyper = bits_of(parameters.at(Hyper), line);
  s.after = static_cast<uint32_t>(value(After));
  s.min_rate = std::min(line, bits_of(parameters.at(MinRate), line));
  s.start = std::clamp(bits_of(parameters.at(StartRate), line), s.min_rate, line);
  return s;
}

} // namespace xr::congestion
