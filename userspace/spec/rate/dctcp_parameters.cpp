// SPDX-License-Identifier: Apache-2.0
#include "rate/dctcp_parameters.h"

#include <algorithm>

namespace xr::congestion {

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

} // namespace xr::congestion
