// SPDX-License-Identifier: Apache-2.0
#include "places/namespaces.h"

#include <fmt/format.h>

#include "base/stopwatch.h"
#include "parse/value.h"
#include "places/captures.h"
#include "places/endpoints.h"
#include "places/frames_run.h"
#include "places/lane.h"
#include "places/rules.h"
#include "places/scale.h"
#include "places/simulated_network.h"

namespace xr::places {

namespace {

using experiment::Experiment;
using experiment::Subject;

// Only the bottleneck is measured.
Result<Subject> subject_in_namespaces(const Experiment &experiment, const Plan &plan) {
  Subject subject = experiment.subject;
  subject.queues = {plan.queue};
  subject.sampled.erase({experiment::RowKind::Queue, "paused_ns"});
  for (const experiment::Expectation &expectation : experiment.expectations)
    if (Status s = expectation.check(subject); !s)
      return Error{fmt::format("expect: {}, in namespaces", s.error().message), s.error().hint};
  return subject;
}

} // namespace

bool runs_in_namespaces(const Experiment &experiment) {
  const simulate::Scenario &scenario = experiment.scenario;
  return needs_network(scenario) ? check_network(scenario).ok() : make_plan(scenario).ok();
}

Result<ExperimentResult> run_in_namespaces(const Experiment &experiment,
                                           const NamespacesOptions &options,
                                           const RunHooks &hooks) {
  if (needs_network(experiment.scenario))
    return run_network(experiment, options, hooks);
  const Stopwatch watch;
  const simulate::Scenario scenario = scaled(experiment.scenario, options.scale);
  auto plan = XR_TRY(make_plan(scenario));
  plan.made = true;
  XR_TRY(plan_rules(experiment, options.scale, plan));
  if (!experiment.captures.empty() && options.out.empty())
    return Error{"a capture needs a directory for its files", "--out DIR"}.as_usage();
  XR_TRY(check_speed(plan, scenario, options.scale));
  auto subject = XR_TRY(subject_in_namespaces(experiment, plan));
  const auto note = [&](const std::string &text) {
    if (options.note)
      options.note(text);
  };
  if (options.scale != 1)
    note(fmt::format(
        "the run is at 1/{:.6g} of the rates and lasts {}: all times are as much longer, "
        "sizes in bytes stay; the report is in the experiment's rates and times",
        1 / options.scale, parse::duration_text(scenario.duration_ns)));
  if (const std::string why = why_differs(plan, options.scale); !why.empty())
    note(why);
  if (scenario.sample_ns && scenario.sample_ns < kLeastSample)
    note(fmt::format("samples are {} apart, not {}", parse::duration_text(kLeastSample),
                     parse::duration_text(scenario.sample_ns)));
  const auto lane = XR_TRY(Lane::make(plan.mtu));
  const RunPorts ports = lane.ports();
  auto endpoints = XR_TRY(Endpoints::prepare(plan, scenario, {.ports = ports, .ours = true}));
  auto captures = XR_TRY(Captures::start(plan, ports, options.out));
  auto counter = XR_TRY(Counter::open(plan, ports));
  XR_TRY(endpoints.start());
  // Their schedules begin with them: just before the first packet.
  RuleRun rules(plan, ports);
  XR_TRY(rules.begin());
  XR_TRY(endpoints.start_senders());
  FramesRun run({.experiment = experiment,
                 .scenario = scenario,
                 .plan = plan,
                 .subject = std::move(subject),
                 .scale = options.scale,
                 .place = "namespaces",
                 .hooks = hooks,
                 .watch = watch,
                 .ports = ports},
                endpoints, counter, rules);
  XR_TRY(run.run());
  XR_TRY(captures.stop());
  run.add_reasons(captures.why_void());
  XR_TRY(endpoints.close());
  XR_TRY(captures.close());
  return run.result(hooks.answers);
}

} // namespace xr::places
