// SPDX-License-Identifier: Apache-2.0
// The answer of `run`, in its report and on its page.
#include <algorithm>
#include <cctype>

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
  return check.value_text.empty() && check.value ? check_number(*check.value, check.unit)
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

// What became of the packets, in the words of the columns that were measured.
std::vector<std::string> count_words(const ExperimentMeasurement &m,
                                     const ExperimentFlowCounts &counts) {
  std::vector<std::string> parts;
  const auto add = [&](const char *column, bool any, const std::string &words) {
    if (any && !m.unmeasured.contains(column))
      parts.push_back(words);
  };
  add("drops", true,
      counts.drops ? counted(counts.drops, "packet") + " dropped" : "nothing dropped");
  add("retransmitted", counts.retransmitted,
      counted(counts.retransmitted, "packet") + " sent again");
  add("timeouts", counts.timeouts, counted(counts.timeouts, "timeout"));
  add("marked", counts.marked, number_words(counts.marked) + " marked CE");
  add("cnps", counts.cnps, counted(counts.cnps, "CNP"));
  return parts;
}

std::string goodput_words(double goodput, size_t flows) {
  const std::string words =
      fmt::format("{} goodput of {}", rate_words(goodput), counted(flows, "flow"));
  return goodput > 0 || !flows ? words : fmt::format("nothing passed ({})", words);
}

std::string sentence(std::string words) {
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words + ".";
}

// Rates and counts of the measured time, as in expectations; where more happened before it, the
// counts of the whole run in a sentence of their own.
std::string measured_sentence(const ExperimentMeasurement &m, const ExperimentFlowCounts &whole) {
  ExperimentFlowCounts measured;
  for (const ExperimentFlow &flow : m.flows)
    measured.add(flow);
  const std::vector<std::string> counts = count_words(m, measured), all = count_words(m, whole);
  std::vector<std::string> parts;
  if (!m.unmeasured.contains("goodput_bps"))
    parts.push_back(goodput_words(goodput_bps(m), m.flows.size()));
  parts.insert(parts.end(), counts.begin(), counts.end());
  if (parts.empty())
    return "";
  if (!m.from_ns || counts == all)
    return sentence(listed(parts));
  return fmt::format("After the first {}: {}. In the whole run: {}.", time_words(m.from_ns),
                     listed(parts), listed(all));
}

std::string fluid_sentence(const ExperimentFluid &fluid) {
  const std::string what = "Flows as a fluid, without packets, queues and losses";
  if (!fluid.compared)
    return fmt::format("{}; not compared with packets ({} of them).", what,
                       number_words(fluid.packets));
  return fmt::format("{}; with packets {} take {:+.2f} % in the median, {:+.2f} % at most.", what,
                     counted(fluid.compared, "time"), fluid.median * 100, fluid.farthest * 100);
}

std::string frames_sentence(const ExperimentFrames &frames) {
  const std::string links = fmt::format("each link took {} ({:.2g} %) more",
                                        time_words(frames.more_ns), frames.more * 100);
  if (!frames.compared)
    return fmt::format("With frames on this machine {} than in virtual time.", links);
  return fmt::format(
      "With frames on this machine {} than in virtual time; {} differ by {:+.2f} % in "
      "the median, {:+.2f} % at most.",
      links, counted(frames.compared, "time"), frames.median * 100, frames.farthest * 100);
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
  if (m.frames)
    summary.sentences.push_back(frames_sentence(*m.frames));
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
