// SPDX-License-Identifier: Apache-2.0
#include "rate/control.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "rate/table_parameters.h"
#include "xdp-roce/congestion.h"

namespace xr::congestion {

namespace {

constexpr uint32_t kAcks = XDP_ROCE_NEEDS_ACKS;
constexpr uint32_t kEveryAck = kAcks | XDP_ROCE_NEEDS_EVERY_ACK;

// To add a control: Control::Kind in control.h; its rows and settings in table_parameters; a row
// here; congestion/NAME.cpp, a subclass of RateControl, or of RatedControl if its rate is in bit/s
// (dctcp.cpp is the shortest), RateControlMaker; words that are no parameters: parse_controlled and
// control_text in flow/control_words.cpp, check_control in flow/check.cpp; docs/congestion.md; new
// numbers of a run: model/run_reports.h, report/runs.cpp; congestion_test, flow_parse_test,
// send_bench.cpp.
constexpr ControlRow kRows[] = {
    {Control::Kind::Fixed, "fixed", 0,
     "each QP at the rate that was asked for, whatever comes back", "", nullptr},
    {Control::Kind::Dcqcn, "dcqcn", 0, "", "SIGCOMM'15", nullptr},
    {Control::Kind::Timely, "timely", kAcks, "the gradient of the RTT",
     "UpdateRateTimely of HPCC's simulator", timely_rows},
    {Control::Kind::TimelyPatched, "timely-patched", kAcks,
     "the gradient of the RTT and its distance from t-ref, so that there is one fixed point",
     "CoNEXT'16, algorithm 2", patched_timely_rows},
    {Control::Kind::Dctcp, "dctcp", kEveryAck | XDP_ROCE_NEEDS_ECHO,
     "the share of marked packets: one cut an RTT, a step in each RTT without one",
     "HandleAckDctcp of HPCC's simulator", dctcp_rows},
    {Control::Kind::Hpcc, "hpcc", kEveryAck | XDP_ROCE_NEEDS_HOPS,
     "what each hop says of itself (INT); in simulations only", "UpdateRateHp of HPCC's simulator",
     hpcc_rows},
    {Control::Kind::Swift, "swift", kEveryAck,
     "a delay that is aimed at, which grows with hops and with small windows; PLB",
     "htsim's swift.cpp", swift_rows},
    {Control::Kind::Copa, "copa", kEveryAck,
     "1 / (delta x queueing delay) packets a second, paced at two windows in an RTT",
     "NSDI'18, without the competitive mode", copa_rows},
    {Control::Kind::Plugin, "plugin", 0, "an algorithm of one's own, in a shared object", "",
     nullptr},
};

const ControlRow &row_of(Control::Kind kind) {
  return *std::find_if(std::begin(kRows), std::end(kRows),
                       [kind](const ControlRow &row) { return row.kind == kind; });
}

} // namespace

std::span<const ControlRow> control_rows() { return kRows; }

std::string control_markdown() {
  std::string table;
  for (const ControlRow &row : kRows) {
    const char *needs = row.needs & XDP_ROCE_NEEDS_HOPS   ? "INT"
                        : row.needs & XDP_ROCE_NEEDS_ECHO ? "ACKs that echo CE"
                        : row.needs                       ? "ACKs"
                                                          : "";
    if (row.rows)
      table += fmt::format("| `{}` | {} | {}; {} |\n", row.word, row.about, row.source, needs);
  }
  return table;
}

Control Control::of(Kind kind) {
  Control control;
  control.kind = kind;
  if (const auto rows = row_of(kind).rows)
    control.table = TableParameters(rows());
  return control;
}

Control Control::of(std::shared_ptr<const Plugin> plugin) {
  Control control;
  control.kind = Kind::Plugin;
  control.table = TableParameters(plugin->rows());
  control.plugin = std::move(plugin);
  return control;
}

uint32_t Control::needs() const {
  if (kind == Kind::None)
    return 0;
  return (plugin ? plugin->algorithm().needs : row_of(kind).needs) |
         (window.kind != Window::Kind::None ? kEveryAck : 0);
}

const char *Control::word() const { return row_of(kind).word; }

ParameterSet *Control::parameters() {
  if (kind == Kind::Dcqcn)
    return &dcqcn;
  return is_dynamic() ? &table : nullptr;
}

} // namespace xr::congestion
