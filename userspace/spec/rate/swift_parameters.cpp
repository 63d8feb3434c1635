// SPDX-License-Identifier: Apache-2.0
#include "rate/swift_parameters.h"

#include <algorithm>
#include <cmath>

namespace xr::congestion {

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

} // namespace xr::congestion
