// SPDX-License-Identifier: Apache-2.0
#include "experiment/verdict.h"

#include <algorithm>

#include <fmt/format.h>

namespace xr::experiment {

namespace {

using Outcome = ExperimentCheck::Outcome;

RowKind kind_of(ExperimentSample::Kind kind) {
  switch (kind) {
  case ExperimentSample::Kind::Flow:
    return RowKind::Flow;
  case ExperimentSample::Kind::Queue:
    return RowKind::Queue;
  default:
    return RowKind::Total;
  }
}

// What arrived before the measured time and waited for an earlier packet is accepted in it.
constexpr double kKeptShare = 0.05;

// More than the links can bring is a fault of this program.
void check_goodput(ExperimentMeasurement &measured) {
  const double most = measured.links_bps * (measured.from_ns ? 1 + kKeptShare : 1),
               goodput = goodput_bps(measured);
  if (measured.links_bps > 0 && goodput > most)
    measured.why_void.push_back(
        fmt::format("a goodput of {:.0f} bit/s is more than the links of the hosts that receive "
                    "it have, {:.0f} bit/s: please report this",
                    goodput, measured.links_bps));
}

} // namespace

void keep_samples(SampleStore &store, const std::vector<ExperimentSample> &samples) {
  for (const ExperimentSample &sample : samples)
    store.add(kind_of(sample.kind), sample.row, sample.column, sample.t_ns, sample.value);
}

void add_answers(ExperimentResult &result, const Experiment &experiment, const Subject &subject,
                 const AnswersOf &answers_of) {
  if (!experiment.analyze || !answers_of || !subject.no_answers.message.empty())
    return;
  auto answers = answers_of(result);
  if (answers)
    result.answers = std::move(answers).get();
  else
    result.measured.why_void.push_back("analyze: " + answers.error().message);
}

void judge(ExperimentResult &result, const Experiment &experiment, const Subject &subject,
           const SampleStore &samples, bool complete) {
  std::vector<std::string> &why = result.measured.why_void;
  check_goodput(result.measured);
  if (complete)
    for (const Expectation &expectation : experiment.expectations) {
      if (!expectation.check(subject))
        continue; // for another process of the run
      result.checks.push_back(
          expectation.evaluate(subject, {result.measured, result.prediction, samples,
                                         result.answers ? &*result.answers : nullptr}));
      const ExperimentCheck &check = result.checks.back();
      if (check.outcome == Outcome::Unmeasured)
        why.push_back(fmt::format("\"{}\" was not measured: {}", check.text, check.why));
    }
  const bool failed =
      std::any_of(result.checks.begin(), result.checks.end(),
                  [](const ExperimentCheck &check) { return check.outcome != Outcome::Holds; });
  result.verdict = !why.empty() ? Verdict::Void : failed ? Verdict::Fail : Verdict::Pass;
}

} // namespace xr::experiment
