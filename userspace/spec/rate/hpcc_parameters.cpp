// SPDX-License-Identifier: Apache-2.0
#include "rate/hpcc_parameters.h"

#include <algorithm>

namespace xr::congestion {

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

} // namespace xr::congestion
