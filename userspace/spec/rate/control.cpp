// SPDX-License-Identifier: Apache-2.0
#include "rate/control.h"

#include <algorithm>
#include <iterator>

namespace xr::congestion {

namespace {

// To add a control: Control::Kind and its parameters in control.h; NAME_parameters.cpp; a row here,
// Control::parameters; congestion/NAME.cpp, a subclass of RateControl (timely.cpp is the shortest),
// RateControlMaker; words that are no parameters: parse_controlled in
// flow/pace_words.cpp, say_control in flow/text.cpp, check_control in flow/check.cpp; help in
// cli/send.cpp, docs/flows.md; new numbers of a run: model/run_reports.h, report/runs.cpp;
// qp_pacing_test, flow_parse_test, send_rates.sh, send_bench.cpp.
constexpr ControlRow kRows[] = {
    {Control::Kind::Fixed, "fixed", false,
     "each QP at the rate that was asked for, whatever comes back"},
    {Control::Kind::Dcqcn, "dcqcn", false, ""},
    {Control::Kind::Timely, "timely", true, "the gradient of the RTT, as HPCC's simulator has it"},
};

} // namespace

std::span<const ControlRow> control_rows() { return kRows; }

bool Control::needs_rtt() const {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [this](const ControlRow &row) { return row.kind == kind && row.needs_rtt; });
}

const char *Control::word() const {
  return std::find_if(std::begin(kRows), std::end(kRows),
                      [this](const ControlRow &row) { return row.kind == kind; })
      ->word;
}

ParameterSet *Control::parameters() {
  switch (kind) {
  case Kind::Dcqcn:
    return &dcqcn;
  case Kind::Timely:
    return &timely;
  default:
    return nullptr;
  }
}

} // namespace xr::congestion
