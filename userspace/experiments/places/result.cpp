// SPDX-License-Identifier: Apache-2.0
#include "places/result.h"

#include <utility>

#include <fmt/format.h>

#include "parse/value.h"

namespace xr::places {

namespace {

// Expectations that hold because nothing arrived say nothing. A run without any may be as short
// as its path, but not shorter than a link.
void add_silent(const experiment::Experiment &experiment, ExperimentMeasurement &measured) {
  const simulate::Scenario &scenario = experiment.scenario;
  if (experiment.expectations.empty() && scenario.topology.delay <= scenario.duration_ns)
    return;
  for (const std::string &name : measured.silent_flows)
    measured.why_void.push_back(fmt::format("{}: none of its packets arrived before the end of "
                                            "the run: delays are as long as that",
                                            name));
}

} // namespace

ExperimentResult result_of(const RunSoFar &run, ExperimentMeasurement measured,
                           const experiment::AnswersOf &answers_of) {
  const experiment::Experiment &experiment = run.experiment;
  ExperimentResult result{.name = experiment.name,
                          .place = run.place,
                          .version = {},
                          .scale = run.scale,
                          .seed = experiment.scenario.seed,
                          .measured = std::move(measured),
                          .prediction = experiment.prediction,
                          .checks = {}};
  result.measured.wall_s = run.watch.wall_s();
  result.measured.cpu_s = run.watch.cpu_s();
  std::vector<std::string> &why = result.measured.why_void;
  if (!run.complete)
    why.push_back(fmt::format("the run ended at {} of {}", parse::duration_text(run.now_ns),
                              parse::duration_text(experiment.scenario.duration_ns)));
  if (!run.sent)
    why.emplace_back("no frame was sent");
  add_silent(experiment, result.measured);
  experiment::add_answers(result, experiment, run.subject, answers_of);
  experiment::judge(result, experiment, run.subject, run.samples, run.complete);
  return result;
}

} // namespace xr::places
