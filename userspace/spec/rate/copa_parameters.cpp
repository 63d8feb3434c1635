// SPDX-License-Identifier: Apache-2.0
#include "rate/copa_parameters.h"

#include <algorithm>

namespace xr::congestion {

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
