// SPDX-License-Identifier: Apache-2.0
#include "places/run.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/stopwatch.h"
#include "experiment/rules.h"
#include "experiment/verdict.h"
#include "places/result.h"
#include "simulate/simulation.h"

namespace xr::places {

namespace {

using experiment::AnswersOf;
using experiment::Experiment;

constexpr uint64_t kSteps = 1000; // of a run, between which it can be ended

class VirtualRun {
public:
  VirtualRun(const Experiment &experiment, const RunHooks &hooks, simulate::Simulation &simulation)
      : experiment_(experiment), hooks_(hooks), simulation_(simulation) {
    for (const experiment::Expectation &expectation : experiment.expectations)
      expectation.keep_samples(store_);
    // Rows are found by the names of the simulation.
    subject_ = experiment.subject;
    subject_.flows = simulation.flow_names();
    subject_.queues = simulation.queue_names();
  }

  // Until its end, or until it is ended.
  Status run() {
    const simulate::Scenario &scenario = experiment_.scenario;
    const uint64_t step = std::max<uint64_t>(scenario.duration_ns / kSteps, 1);
    double next_partial = hooks_.partial_s;
    while (!simulation_.done()) {
      simulation_.run_until(simulation_.now() + step);
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

  // What was measured so far; `answers_of`: at the end.
  ExperimentResult result(const AnswersOf &answers_of = {}) {
    ExperimentMeasurement measured = simulation_.measure();
    for (const auto &[alias, name] : subject_.aliases)
      for (ExperimentQueue &queue : measured.queues)
        if (queue.name == name)
          queue.alias = alias;
    for (size_t i = 0; i < measured.rules.size(); i++)
      measured.rules[i].words = experiment_.rules.all[i].spec.text();
    const bool sent = simulation_.totals().sent || experiment_.scenario.fluid;
    return result_of({.experiment = experiment_,
                      .subject = subject_,
                      .samples = store_,
                      .watch = watch_,
                      .place = "virtual",
                      .complete = simulation_.done(),
                      .sent = sent,
                      .now_ns = simulation_.now()},
                     std::move(measured), answers_of);
  }

private:
  Status take_samples() {
    const std::vector<ExperimentSample> samples = simulation_.take_samples();
    experiment::keep_samples(store_, samples);
    return hooks_.samples && !samples.empty() ? hooks_.samples(samples, subject_) : Status();
  }

  const Experiment &experiment_;
  const RunHooks &hooks_;
  simulate::Simulation &simulation_;
  experiment::Subject subject_;
  experiment::SampleStore store_;
  Stopwatch watch_;
};

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

// Times that both runs have: FCTs of flows and times of steps.
std::vector<double> differences(const ExperimentMeasurement &fluid,
                                const ExperimentMeasurement &packets) {
  std::vector<double> all;
  const auto add = [&all](uint64_t of_fluid, uint64_t of_packets) {
    if (of_fluid)
      all.push_back(static_cast<double>(of_packets) / static_cast<double>(of_fluid) - 1);
  };
  for (size_t i = 0; i < std::min(fluid.flows.size(), packets.flows.size()); i++)
    if (fluid.jobs.empty() && fluid.flows[i].fct_ns && packets.flows[i].fct_ns)
      add(*fluid.flows[i].fct_ns, *packets.flows[i].fct_ns);
  for (size_t job = 0; job < std::min(fluid.jobs.size(), packets.jobs.size()); job++) {
    const auto &left = fluid.jobs[job].steps, &right = packets.jobs[job].steps;
    for (size_t i = 0; i < std::min(left.size(), right.size()); i++)
      if (left[i].end_ns && right[i].end_ns)
        add(*left[i].end_ns - left[i].start_ns, *right[i].end_ns - right[i].start_ns);
  }
  return all;
}

// Makes the run with packets too, where that takes no longer than a second or two.
Status compare_with_packets(simulate::Scenario scenario, ExperimentMeasurement &measured) {
  constexpr uint64_t kMost = 500'000;
  uint64_t bytes = 0;
  for (const ExperimentFlow &flow : measured.flows)
    bytes += flow.whole.bytes;
  uint32_t pmtu = UINT32_MAX;
  for (const simulate::FlowSetup &setup : scenario.flows)
    pmtu = std::min(pmtu, setup.flow.pmtu);
  for (const simulate::JobSetup &setup : scenario.jobs)
    pmtu = std::min(pmtu, setup.like.flow.pmtu);
  ExperimentFluid &fluid = measured.fluid.emplace();
  fluid.packets = bytes / pmtu;
  if (fluid.packets > kMost)
    return {};
  scenario.fluid = false;
  scenario.sample_ns = 0;
  auto simulation = XR_TRY(simulate::Simulation::make(scenario));
  simulation->run_until(scenario.duration_ns);
  std::vector<double> all = differences(measured, simulation->measure());
  if (all.empty())
    return {};
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  fluid.compared = all.size();
  fluid.median = *middle;
  fluid.farthest = *std::ranges::max_element(all, {}, [](double x) { return std::abs(x); });
  return {};
}

} // namespace

Result<ExperimentResult> run_virtual(const Experiment &experiment, const RunHooks &hooks,
                                     const std::string &out) {
  auto scenario = XR_TRY(with_rules(experiment, out));
  scenario.threads = hooks.threads;
  const bool fluid = scenario.fluid;
  auto simulation = XR_TRY(simulate::Simulation::make(std::move(scenario)));
  if (hooks.threads > 1 && !simulation->whole().empty() && hooks.note)
    hooks.note(fmt::format("it runs on one thread: {}", simulation->whole()));
  VirtualRun run(experiment, hooks, *simulation);
  const Status ran = run.run();
  const Status closed = simulation->close_captures();
  for (const Status *status : {&ran, &closed})
    if (!*status)
      return status->error();
  ExperimentResult result = run.result(hooks.answers);
  if (fluid)
    XR_TRY(compare_with_packets(XR_TRY(with_rules(experiment, out)), result.measured));
  return result;
}

} // namespace xr::places
