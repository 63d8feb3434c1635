// SPDX-License-Identifier: Apache-2.0
#include "places/simulation_run.h"

#include <algorithm>
#include <cmath>

#include "experiment/rules.h"
#include "experiment/verdict.h"
#include "places/result.h"

namespace xr::places {

namespace {

using experiment::AnswersOf;
using experiment::Experiment;

constexpr uint64_t kSteps = 1000; // a run can be ended between its steps

} // namespace

Result<simulate::Scenario> with_rules(const Experiment &experiment, const std::string &out) {
  if (!experiment.captures.empty() && out.empty())
    return Error{"a capture needs a directory for its files", "--out DIR"}.as_usage();
  simulate::Scenario scenario = experiment.scenario;
  scenario.rules = experiment.rules;
  scenario.captures = experiment.captures;
  scenario.capture_directory = out;
  uint32_t qps = 0;
  for (const simulate::FlowSetup &setup : scenario.flows)
    qps += setup.flow.qps;
  for (simulate::RuleSetup &rule : scenario.rules.all)
    XR_TRY(experiment::number_qps(rule.spec, simulate::kFirstQp, qps).in(rule.name));
  return scenario;
}

SimulationRun::SimulationRun(const Experiment &experiment, const RunHooks &hooks,
                             simulate::Simulation &simulation, const char *place, double scale)
    : experiment_(experiment), hooks_(hooks), simulation_(simulation), place_(place),
      scale_(scale) {
  for (const experiment::Expectation &expectation : experiment.expectations)
    expectation.keep_samples(store_);
  // Rows are found by the names of the simulation.
  subject_ = experiment.subject;
  subject_.flows = simulation.flow_names();
  subject_.queues = simulation.queue_names();
}

Status SimulationRun::run(const std::function<void(uint64_t ns)> &advance) {
  const simulate::Scenario &scenario = experiment_.scenario;
  const uint64_t step = std::max<uint64_t>(scenario.duration_ns / kSteps, 1);
  double next_partial = hooks_.partial_s;
  while (!simulation_.done()) {
    advance(simulation_.now() + step);
    if (Status s = take_samples(); !s)
      return s;
    if (hooks_.progress &&
        !hooks_.progress({simulation_.now(), scenario.duration_ns, simulation_.totals().hops}))
      break;
    if (hooks_.partial && !simulation_.done() && watch_.wall_s() > next_partial) {
      next_partial = watch_.wall_s() + hooks_.partial_s;
      if (Status s = hooks_.partial(result()); !s)
        return s;
    }
  }
  return {};
}

ExperimentResult SimulationRun::result(const AnswersOf &answers_of,
                                       const std::function<void(ExperimentMeasurement &)> &add) {
  ExperimentMeasurement measured = simulation_.measure();
  for (const auto &[alias, name] : subject_.aliases)
    for (ExperimentQueue &queue : measured.queues)
      if (queue.name == name)
        queue.alias = alias;
  for (size_t i = 0; i < measured.rules.size(); i++)
    measured.rules[i].words = experiment_.rules.all[i].spec.text();
  if (add)
    add(measured);
  const bool sent = simulation_.totals().sent || experiment_.scenario.fluid;
  return result_of({.experiment = experiment_,
                    .subject = subject_,
                    .samples = store_,
                    .watch = watch_,
                    .place = place_,
                    .scale = scale_,
                    .complete = simulation_.done(),
                    .sent = sent,
                    .now_ns = simulation_.now()},
                   std::move(measured), answers_of);
}

Status SimulationRun::take_samples() {
  const std::vector<ExperimentSample> samples = simulation_.take_samples();
  experiment::keep_samples(store_, samples);
  return hooks_.samples && !samples.empty() ? hooks_.samples(samples, subject_) : Status();
}

Differences differences(const ExperimentMeasurement &first, const ExperimentMeasurement &other) {
  std::vector<double> all;
  const auto add = [&all](uint64_t of_first, uint64_t of_other) {
    if (of_first)
      all.push_back(static_cast<double>(of_other) / static_cast<double>(of_first) - 1);
  };
  for (size_t i = 0; i < std::min(first.flows.size(), other.flows.size()); i++)
    if (first.jobs.empty() && first.flows[i].fct_ns && other.flows[i].fct_ns)
      add(*first.flows[i].fct_ns, *other.flows[i].fct_ns);
  for (size_t job = 0; job < std::min(first.jobs.size(), other.jobs.size()); job++) {
    const auto &left = first.jobs[job].steps, &right = other.jobs[job].steps;
    for (size_t i = 0; i < std::min(left.size(), right.size()); i++)
      if (left[i].end_ns && right[i].end_ns)
        add(*left[i].end_ns - left[i].start_ns, *right[i].end_ns - right[i].start_ns);
  }
  if (all.empty())
    return {};
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return {.compared = all.size(),
          .median = *middle,
          .farthest = *std::ranges::max_element(all, {}, [](double x) { return std::abs(x); })};
}

} // namespace xr::places
