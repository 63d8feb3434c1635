// SPDX-License-Identifier: Apache-2.0
#include "rate/hpcc_parameters.h"

#include <algorithm>

namespace xr::congestion {

namespace {

std::vector<ParameterRow> make_hpcc_rows() {
  using enum Unit;
  return {
      parameter_row({"eta", "eta", "utilisation that is aimed at", kHpccRun}, {Ratio}, 0.01, 1,
                    0.95),
      parameter_row({"max-stage", "maxStage", "additive steps before the next multiplicative one",
                     "HPCC run.py (MI_THRESH); 5 in the paper"},
                    {Number}, 0, 1000000.0, 0),
      parameter_row(
          {"ai", "W_AI", "added in each step", "HPCC run.py: 10 Mbit/s for each 25 Gbit/s"},
          {LinePercent, Mbit}, 0, 10000000.0, 0.04),
      parameter_row({"min-rate", "", "least rate", kHpccRun}, {Mbit, LinePercent}, 0, 10000000.0,
                    1000),
      parameter_row({"base-rtt", "T", "RTT without queues; 0: the path's", kHpccHw}, {Microseconds},
                    0, 10000000.0, 0),
      parameter_row({"fast-react", "", "each ACK changes the rate, not only one an RTT", kHpccRun},
                    {Switch}, 0, 1, 1),
      parameter_row({"vary-window", "", "the window follows the rate", kHpccRun}, {Switch}, 0, 1,
                    1),
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
  s.min_rate = std::min(line, rate_bits(parameters.at(MinRate), line));
  s.base_rtt_ns = static_cast<uint64_t>(parameters.value(BaseRtt) * 1000);
  s.fast_react = parameters.value(FastReact) != 0;
  s.vary_window = parameters.value(VaryWindow) != 0;
  return s;
}

} // namespace xr::congestion
