// SPDX-License-Identifier: Apache-2.0
// The answer of `run`, in its report and on its page.
#include <algorithm>

#include <fmt/format.h>

#include "report/job_steps.h"
#include "report/phrases.h"
#include "report/summary.h"

namespace xr::report {

namespace {

using Outcome = ExperimentCheck::Outcome;

std::string value_words(const ExperimentCheck &check) {
  if (check.outcome == Outcome::Unmeasured)
    return "not measured";
  return check.value_text.empty() && check.value ? fmt::format("{:.6g}", *check.value)
                                                 : check.value_text;
}

std::string verdict_sentence(const ExperimentResult &result) {
  if (result.verdict == Verdict::Void)
    return fmt::format("Void: {}.", result.measured.why_void.empty()
                                        ? "the measurement cannot be trusted"
                                        : result.measured.why_void.front());
  if (result.checks.empty())
    return "Nothing was expected, and all was measured.";
  const auto holds = static_cast<uint64_t>(
      std::ranges::count(result.checks, Outcome::Holds, &ExperimentCheck::outcome));
  if (holds == result.checks.size())
    return fmt::format("Pass: {}.", holds == 1 ? "the expectation holds"
                                               : fmt::format("all {} expectations hold", holds));
  const auto first = std::ranges::find_if(
      result.checks, [](const ExperimentCheck &check) { return check.outcome != Outcome::Holds; });
  const std::string value = value_words(*first);
  return fmt::format("Fail: {} of {} hold, not {}{}.", holds,
                     counted(result.checks.size(), "expectation"), first->text,
                     value.empty() ? "" : fmt::format(" (it is {})", value));
}

std::string measured_sentence(const ExperimentMeasurement &m, const ExperimentFlowCounts &whole) {
  std::vector<std::string> parts;
  const auto add = [&](const char *column, const std::string &words) {
    if (!m.unmeasured.contains(column))
      parts.push_back(words);
  };
  double goodput = 0;
  for (const ExperimentFlow &flow : m.flows)
    goodput += flow.goodput_bps;
  add("goodput_bps",
      fmt::format("{} goodput of {}", rate_words(goodput), counted(m.flows.size(), "flow")));
  add("drops", whole.drops ? counted(whole.drops, "packet") + " dropped" : "nothing dropped");
  if (whole.retransmitted)
    add("retransmitted", counted(whole.retransmitted, "packet") + " sent again");
  if (whole.timeouts)
    add("timeouts", counted(whole.timeouts, "timeout"));
  if (whole.marked)
    add("marked", number_words(whole.marked) + " marked CE");
  if (whole.cnps)
    add("cnps", counted(whole.cnps, "CNP"));
  return parts.empty() ? "" : listed(parts) + ".";
}

std::string fluid_sentence(const ExperimentFluid &fluid) {
  const std::string what = "Flows as a fluid, without packets, queues and losses";
  if (!fluid.compared)
    return fmt::format("{}; not compared with packets ({} of them).", what,
                       number_words(fluid.packets));
  return fmt::format("{}; with packets {} take {:+.2f} % in the median, {:+.2f} % at most.", what,
                     counted(fluid.compared, "time"), fluid.median * 100, fluid.farthest * 100);
}

} // namespace

Summary experiment_summary(const ExperimentResult &result) {
  const ExperimentMeasurement &m = result.measured;
  const ExperimentFlowCounts whole = whole_run(m).flows;
  Summary summary;
  summary.sentences.push_back(verdict_sentence(result));
  if (const std::string text = measured_sentence(m, whole); !text.empty())
    summary.sentences.push_back(text);
  if (m.fluid)
    summary.sentences.push_back(fluid_sentence(*m.fluid));
  for (const ExperimentJob &job : m.jobs)
    summary.sentences.push_back(job_sentence(job));
  const auto fact = [&](const char *name, const char *column, uint64_t value) {
    summary.fact(name, m.unmeasured.contains(column) ? Value{} : Value{value}, "packets");
  };
  summary.fact("expectations",
               static_cast<uint64_t>(
                   std::ranges::count(result.checks, Outcome::Holds, &ExperimentCheck::outcome)),
               "", uint64_t{result.checks.size()});
  fact("dropped", "drops", whole.drops);
  fact("sent_again", "retransmitted", whole.retransmitted);
  fact("ce", "marked", whole.marked);
  fact("cnps", "cnps", whole.cnps);
  return summary;
}

} // namespace xr::report
