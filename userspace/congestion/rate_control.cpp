// SPDX-License-Identifier: Apache-2.0
#include "congestion/rate_control.h"

#include <algorithm>
#include <iterator>

#include "congestion/dcqcn.h"
#include "congestion/fixed.h"
#include "congestion/timely.h"

namespace xr::congestion {

namespace {

constexpr double kBitsOfByte = 8;

// To add a control: Control::Kind and its parameters in rate_control.h; NAME.cpp, a subclass of
// RateControl (timely.cpp is the shortest), its parameters (timely_parameters.cpp); a row here,
// Control::parameters, RateControlMaker; words that are no parameters: parse_controlled in
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

RateControlMaker::RateControlMaker(const Control &control, double rate)
    : kind_(control.kind), rate_(rate) {
  if (kind_ == Control::Kind::Dcqcn)
    dcqcn_ = std::make_shared<const DcqcnSettings>(resolve(control.dcqcn, rate * kBitsOfByte));
  if (kind_ == Control::Kind::Timely)
    timely_ = std::make_shared<const TimelySettings>(resolve(control.timely, rate * kBitsOfByte));
}

std::unique_ptr<RateControl> RateControlMaker::make() const {
  switch (kind_) {
  case Control::Kind::Dcqcn:
    return std::make_unique<Dcqcn>(dcqcn_);
  case Control::Kind::Timely:
    return std::make_unique<Timely>(timely_);
  default:
    return std::make_unique<FixedRate>(rate_);
  }
}

std::unique_ptr<RateControl> make_rate_control(const Control &control, double rate) {
  return RateControlMaker(control, rate).make();
}

} // namespace xr::congestion
