// SPDX-License-Identifier: Apache-2.0
#include "rate/table_parameters.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace xr::congestion {

TableParameters::TableParameters(std::span<const ParameterRow> rows) : rows_(rows) {
  values_.reserve(rows.size());
  for (const ParameterRow &row : rows)
    values_.push_back(row.defaults.front().quantity);
}

std::string TableParameters::words() const {
  return assignments(rows_, values_, TableParameters(rows_).values_);
}

ParameterRow parameter_row(const RowText &text, std::vector<Unit> units, double least, double most,
                           double value, bool assumed) {
  const Quantity quantity{value, units.front()};
  return {text.name,
          text.symbol,
          std::move(units),
          least,
          most,
          text.meaning,
          {},
          {{quantity, text.source, assumed}}};
}

double rate_bits(const Quantity &q, double line_bits) {
  return q.unit == Unit::LinePercent ? line_bits * q.value / 100 : q.value * 1e6;
}

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

namespace {

std::vector<ParameterRow> make_dctcp_rows() {
  using enum Unit;
  return {
      parameter_row({"g", "g", "weight of the newest share of marked packets", kHpccRun}, {Ratio},
                    0, 1, 1.0 / 16),
      parameter_row({"alpha-initial", "alpha",
                     "share of marked packets that is assumed at the start", kHpccHw},
                    {Ratio}, 0, 1, 1),
      parameter_row(
          {"ai", "", "added in each RTT without a cut", "HPCC run.py: one packet of 1 KB in 13 us"},
          {Mbit, LinePercent}, 0, 10000000.0, 615),
      parameter_row({"min-rate", "", "least rate", "HPCC config.txt, as for DCQCN"},
                    {Mbit, LinePercent}, 0, 10000000.0, 100, true),
      parameter_row({"start-rate", "", "rate at which a QP starts", kHpccHw}, {LinePercent, Mbit},
                    0, 10000000.0, 100),
  };
}

} // namespace

std::span<const ParameterRow> dctcp_rows() {
  static const std::vector<ParameterRow> kRows = make_dctcp_rows();
  return kRows;
}

DctcpSettings dctcp_settings(const TableParameters &parameters, double line) {
  using enum DctcpParameter;
  DctcpSettings s;
  s.line = line;
  s.g = parameters.value(G);
  s.alpha_initial = parameters.value(AlphaInitial);
  s.ai = rate_bits(parameters.at(Ai), line);
  s.min_rate = std::min(line, rate_bits(parameters.at(MinRate), line));
  s.start = std::clamp(rate_bits(parameters.at(StartRate), line), s.min_rate, line);
  return s;
}

namespace {

// IntHop of HPCC's simulator: a queue and the bytes sent, in these units times INT_MULTI, which
// run.py sets to 1 for each 25 Gbit/s.
constexpr uint64_t kQueueUnit = 80, kBytesUnit = 128;
constexpr double kRateOfUnits = 25e9;

ParameterRow make_int_row() {
  return {"int",
          "INT",
          {Unit::Choice},
          0,
          1,
          "numbers of the telemetry: in the units of its header, rounded down, or exact",
          {"published", "exact"},
          {{{0, Unit::Choice}, "HPCC int-header.h", false}}};
}

std::vector<ParameterRow> make_hpcc_rows() {
  using enum Unit;
  return {
      parameter_row({"eta", "eta", "utilisation that is aimed at", kHpccRun}, {Ratio}, 0.01, 1,
                    0.95),
      parameter_row({"max-stage", "maxStage", "additive steps before the next multiplicative one",
                     "HPCC run.py (MI_THRESH); 5 in the paper"},
                    {Number}, 0, 1000000.0, 0),
      parameter_row({"ai", "W_AI", "added in each step; 0: (1 - eta) / flows of the line",
                     "HPCC, section 3.3; 0.04 % of the line in run.py"},
                    {LinePercent, Mbit}, 0, 10000000.0, 0),
      parameter_row({"min-rate", "", "least rate", kHpccRun}, {Mbit, LinePercent}, 0, 10000000.0,
                    1000),
      parameter_row({"base-rtt", "T", "RTT without queues; 0: the path's", kHpccHw}, {Microseconds},
                    0, 10000000.0, 0),
      parameter_row({"fast-react", "", "each ACK changes the rate, not only one an RTT", kHpccRun},
                    {Switch}, 0, 1, 1),
      parameter_row({"vary-window", "", "the window follows the rate", kHpccRun}, {Switch}, 0, 1,
                    1),
      make_int_row(),
      parameter_row({"int-multi", "INT_MULTI",
                     "multiple of the header's units (queue 80 B, bytes 128 B); 0: 1 for each 25 "
                     "Gbit/s of the line",
                     kHpccRun},
                    {Number}, 0, 1000000.0, 0),
      parameter_row({"flows", "N", "flows that are expected at once, where ai is 0", "ours"},
                    {Number}, 1, 1000000.0, 16, true),
  };
}

} // namespace

std::span<const ParameterRow> hpcc_rows() {
  static const std::vector<ParameterRow> kRows = make_hpcc_rows();
  return kRows;
}

HpccSettings hpcc_settings(const TableParameters &parameters, double line) {
  using enum HpccParameter;
  HpccSettings s;
  s.line = line;
  s.eta = parameters.value(Eta);
  s.max_stage = static_cast<uint32_t>(parameters.value(MaxStage));
  s.ai = rate_bits(parameters.at(Ai), line);
  if (s.ai == 0) // W_AI = Winit (1 - eta) / N, as a rate
    s.ai = line * (1 - s.eta) / parameters.value(Flows);
  s.min_rate = std::min(line, rate_bits(parameters.at(MinRate), line));
  s.base_rtt_ns = static_cast<uint64_t>(parameters.value(BaseRtt) * 1000);
  s.fast_react = parameters.value(FastReact) != 0;
  s.vary_window = parameters.value(VaryWindow) != 0;
  if (parameters.value(Int) == 0) {
    const double given = parameters.value(IntMulti);
    const auto multi =
        static_cast<uint64_t>(std::max(1.0, given > 0 ? given : line / kRateOfUnits));
    s.int_queue_unit = kQueueUnit * multi;
    s.int_bytes_unit = kBytesUnit * multi;
  }
  return s;
}

namespace {

constexpr const char *kSim = "htsim swift.cpp";

std::vector<ParameterRow> make_swift_rows() {
  using enum Unit;
  return {
      parameter_row({"ai", "ai", "packets added to the window in an RTT", kSim}, {Number}, 0,
                    1000000.0, 1),
      parameter_row({"beta", "beta", "strength of a decrease", kSim}, {Ratio}, 0, 1, 0.8),
      parameter_row({"max-mdf", "max_mdf", "largest decrease, as a part of the window", kSim},
                    {Ratio}, 0, 1, 0.5),
      parameter_row({"base-target", "", "delay aimed at, before the terms of hops and flows", kSim},
                    {Microseconds}, 0.1, 10000000.0, 20),
      parameter_row({"hop-scale", "h",
                     "added to the target for each switch of the path, where that is known",
                     "htsim swift.cpp: base / 6.55"},
                    {Microseconds}, 0, 10000000.0, 3.05),
      parameter_row(
          {"fs-range", "", "most that the term of flows adds", "htsim swift.cpp: 5 x base"},
          {Microseconds}, 0, 10000000.0, 100),
      parameter_row(
          {"fs-min", "", "window at which the term of flows is largest, in packets", kSim},
          {Number}, 0.001, 1000000.0, 0.1),
      parameter_row({"fs-max", "", "window from which it is 0, in packets", kSim}, {Number}, 0.001,
                    1000000.0, 100),
      parameter_row({"min-window", "", "least window, in packets", kSim}, {Number}, 0.0001,
                    1000000.0, 0.1),
      parameter_row({"max-window", "", "largest window, in packets", kSim}, {Number}, 1, 1000000.0,
                    100),
      parameter_row({"start-window", "", "window of a QP that starts, in packets", "ours"},
                    {Number}, 0.01, 1000000.0, 10, true),
      parameter_row({"kill-after", "", "timeouts in a row that reset the window to the least one",
                     "htsim swift.cpp (KILL_THRESHOLD)"},
                    {Number}, 1, 1000000.0, 5),
      parameter_row({"plb-after", "",
                     "RTTs in a row above the target until another path is taken (PLB); 0: never",
                     "htsim swift.cpp: 5 to 7"},
                    {Number}, 0, 1000000.0, 5),
  };
}

} // namespace

std::span<const ParameterRow> swift_rows() {
  static const std::vector<ParameterRow> kRows = make_swift_rows();
  return kRows;
}

SwiftSettings swift_settings(const TableParameters &parameters, double line) {
  using enum SwiftParameter;
  SwiftSettings s;
  s.line = line;
  s.ai = parameters.value(Ai);
  s.beta = parameters.value(Beta);
  s.max_mdf = parameters.value(MaxMdf);
  s.base_target_ns = parameters.value(BaseTarget) * 1000;
  s.hop_ns = parameters.value(HopScale) * 1000;
  s.fs_range_ns = parameters.value(FsRange) * 1000;
  // The term is fs_range at fs-min and 0 at fs-max.
  const double least = parameters.value(FsMin), most = std::max(parameters.value(FsMax), 2 * least);
  s.fs_alpha = s.fs_range_ns / (1 / std::sqrt(least) - 1 / std::sqrt(most));
  s.fs_beta = -s.fs_alpha / std::sqrt(most);
  s.min_window = parameters.value(MinWindow);
  s.max_window = std::max(parameters.value(MaxWindow), s.min_window);
  s.start_window = std::clamp(parameters.value(StartWindow), s.min_window, s.max_window);
  s.kill_after = static_cast<uint32_t>(parameters.value(KillAfter));
  s.plb_after = static_cast<uint32_t>(parameters.value(PlbAfter));
  return s;
}

namespace {

constexpr const char *kCopaPaper = "Copa, section 2";

std::vector<ParameterRow> make_copa_rows() {
  using enum Unit;
  return {
      parameter_row(
          {"delta", "delta", "1/delta packets of each flow stay in the queue", kCopaPaper},
          {Number}, 0.001, 100, 0.5),
      parameter_row({"min-window", "", "least window, in packets", "ours"}, {Number}, 0.1,
                    1000000.0, 2, true),
      parameter_row({"start-window", "", "window of a QP that starts, in packets", "ours"},
                    {Number}, 0.1, 1000000.0, 10, true),
      parameter_row({"min-rtt-window", "", "time for which a least RTT is believed", kCopaPaper},
                    {Microseconds}, 1, 1000000000.0, 10000000.0),
  };
}

} // namespace

std::span<const ParameterRow> copa_rows() {
  static const std::vector<ParameterRow> kRows = make_copa_rows();
  return kRows;
}

CopaSettings copa_settings(const TableParameters &parameters, double line) {
  using enum CopaParameter;
  CopaSettings s;
  s.line = line;
  s.delta = parameters.value(Delta);
  s.min_window = parameters.value(MinWindow);
  s.start_window = std::max(parameters.value(StartWindow), s.min_window);
  s.min_rtt_window_ns = static_cast<uint64_t>(parameters.value(MinRttWindow) * 1000);
  return s;
}

} // namespace xr::congestion
