// SPDX-License-Identifier: Apache-2.0
#include "run_analysis/captures.h"

#include "run_analysis/answers.h"
#include "simulate/topology.h"

namespace xr::run_analysis {

namespace {

using Change = experiment::RuleChange::Kind;

// Names of the rules of each port, in the order in which they were added there.
std::array<std::vector<std::string>, kPorts> rule_names(const experiment::Experiment &experiment) {
  std::array<std::vector<std::string>, kPorts> names;
  const auto forward = simulate::bottleneck(experiment.scenario.topology);
  const auto add = [&](const experiment::RuleSetup &rule) {
    names[forward && rule.link == *forward ? kLeft : kRight].push_back(rule.name);
  };
  for (const experiment::RuleSetup &rule : experiment.rules.all)
    if (rule.from_start)
      add(rule);
  for (const experiment::RuleChange &change : experiment.rules.changes)
    if (change.kind == Change::Add)
      add(experiment.rules.all[change.rule]);
  return names;
}

} // namespace

Result<Analysis> follow(const std::string &directory, Trace &trace) {
  AnalyzeRun run;
  run.options.episodes = true;
  run.options.drop_bad_icrc = true;
  run.options.outcome = [&trace](const CapturedFrame &frame) {
    const Trace::Outcome outcome = trace.add(frame);
    return Analyzer::Options::Outcome{outcome.lost, outcome.marked};
  };
  auto analysis = analyze({directory + "/left.pcapng", directory + "/right.pcapng"}, run);
  if (analysis && !analysis->troubles.empty())
    return analysis->troubles.front();
  return analysis;
}

Result<RunAnswers> from_captures(const experiment::Experiment &experiment,
                                 const ExperimentResult &result, const std::string &directory) {
  Trace trace;
  const auto analysis = XR_TRY(follow(directory, trace));
  Question question{.trace = trace,
                    .episodes = analysis.episodes,
                    .measured = result.measured,
                    .flows = {},
                    .rules = rule_names(experiment),
                    .scale = result.scale,
                    .counts_before_rules = result.place == "virtual",
                    .begun_ns = result.measured.begun_ns};
  const auto &setups = experiment.scenario.flows;
  for (size_t i = 0; i < result.measured.flows.size() && i < setups.size(); i++)
    question.flows.push_back(
        {result.measured.flows[i].name, result.measured.flows[i].qp, setups[i].flow.qps});
  return answer(question);
}

} // namespace xr::run_analysis
