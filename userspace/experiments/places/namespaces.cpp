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

namespace xr::places {

namespace {

using experiment::Experiment;
using experiment::Subject;

// Only the bottleneck is measured.
Result<Subject> subject_of(const Experiment &experiment, const Plan &plan) {
  Subject subject = experiment.subject;
  subject.queues = {plan.queue};
  subject.sampled.erase({experiment::RowKind::Queue, "paused_ns"});
  for (const experiment::Expectation &expectation : experiment.expectations)
    if (Status s = expectation.check(subject); !s)
      return Error{fmt::format("expect: {}, in namespaces", s.error().message), s.error().hint};
  return subject;
}

} // namespace

Result<ExperimentResult> run_in_namespaces(const Experiment &experiment,
                                           const NamespacesOptions &options,
                                           const RunHooks &hooks) {
  const Stopwatch watch;
  const simulate::Scenario scenario = scaled(experiment.scenario, options.scale);
  auto plan = make_plan(scenario);
  if (!plan)
    return plan.error();
  plan.get().made = true;
  if (Status s = plan_rules(experiment, options.scale, plan.get()); !s)
    return s.error();
  if (!experiment.captures.empty() && options.out.empty())
    return Error{"a capture needs a directory for its files", "--out DIR"}.as_usage();
  if (Status s = check_speed(plan.get(), scenario, options.scale); !s)
    return s.error();
  auto subject = subject_of(experiment, plan.get());
  if (!subject)
    return subject.error();
  const auto note = [&](const std::string &text) {
    if (options.note)
      options.note(text);
  };
  if (options.scale != 1)
    note(fmt::format(
        "the run is at 1/{:.6g} of the rates and lasts {}: all times are as much longer, "
        "sizes in bytes stay; the report is in the experiment's rates and times",
        1 / options.scale, parse::duration_text(scenario.duration_ns)));
  if (const std::string why = why_differs(plan.get(), options.scale); !why.empty())
    note(why);
  if (scenario.sample_ns && scenario.sample_ns < kLeastSample)
    note(fmt::format("samples are {} apart, not {}", parse::duration_text(kLeastSample),
                     parse::duration_text(scenario.sample_ns)));
  const auto lane = Lane::make(plan.get().mtu);
  if (!lane)
    return lane.error();
  const RunPorts ports = lane.get().ports();
  auto endpoints = Endpoints::prepare(plan.get(), scenario, {.ports = ports, .ours = true});
  if (!endpoints)
    return endpoints.error();
  auto captures = Captures::start(plan.get(), ports, options.out);
  if (!captures)
    return captures.error();
  auto counter = Counter::open(plan.get(), ports);
  if (!counter)
    return counter.error();
  if (Status s = endpoints->start(); !s)
    return s.error();
  // Their schedules begin with them: just before the first packet.
  RuleRun rules(plan.get(), ports);
  if (Status s = rules.begin(); !s)
    return s.error();
  if (Status s = endpoints->start_senders(); !s)
    return s.error();
  FramesRun run({.experiment = experiment,
                 .scenario = scenario,
                 .plan = plan.get(),
                 .subject = std::move(subject).get(),
                 .scale = options.scale,
                 .place = "namespaces",
                 .hooks = hooks,
                 .watch = watch,
                 .ports = ports},
                endpoints.get(), counter.get(), rules);
  if (Status s = run.run(); !s)
    return s.error();
  if (Status s = captures->stop(); !s)
    return s.error();
  run.add_reasons(captures->why_void());
  if (Status s = endpoints->close(); !s)
    return s.error();
  if (Status s = captures->close(); !s)
    return s.error();
  return run.result(hooks.answers);
}

} // namespace xr::places
