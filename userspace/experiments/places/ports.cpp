// SPDX-License-Identifier: Apache-2.0
#include "places/ports.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/stopwatch.h"
#include "parse/address.h"
#include "parse/value.h"
#include "places/captures.h"
#include "places/claims.h"
#include "places/endpoints.h"
#include "places/frames_run.h"
#include "places/measured_columns.h"
#include "places/port_checks.h"
#include "places/rules.h"
#include "places/scale.h"

namespace xr::places {

namespace {

using experiment::Experiment;
using experiment::RowKind;
using experiment::Subject;

constexpr uint64_t kLead = 100'000'000;          // ns, from the rules to the first packet
constexpr uint64_t kMacPatience = 5'000'000'000; // for the receivers' MAC, without a start time
constexpr uint64_t kReadyIn = 5'000'000'000;     // from the MAC to the start
constexpr uint64_t kStep = 50'000'000;
constexpr uint64_t kMillisecond = 1'000'000;

RunPorts all_ports(const PortsOptions &options) {
  const PortNames &names = options.names;
  return {.sender = {names.send, options.netns},
          .left = {names.left, options.netns},
          .right = {names.right, options.netns},
          .receiver = {names.respond, options.netns}};
}

RunPorts ports_of_role(RunPorts ports, const std::string &role) {
  if (role.empty())
    return ports;
  if (role != "wire")
    ports.left = ports.right = {};
  if (role != "send")
    ports.sender = {};
  if (role != "respond")
    ports.receiver = {};
  return ports;
}

Subject subject_on_ports(const Experiment &experiment, const Plan &plan, const RunPorts &ports) {
  Subject subject = experiment.subject;
  subject.queues.clear();
  subject.aliases.clear();
  if (ports.wire()) {
    subject.queues = {plan.queue};
    subject.aliases = experiment.subject.aliases;
  } else {
    subject.rules.clear();
    subject.no_answers = {"the wire has the captures", "left=IF,right=IF"};
  }
  subject.sampled.erase({RowKind::Queue, "paused_ns"});
  subject.absent = absent_columns(having(ports, plan.ours));
  for (const auto &[column, why] : subject.absent)
    subject.sampled.erase({column.first, column.second});
  return subject;
}

class PortsRun {
public:
  PortsRun(const Experiment &experiment, const PortsOptions &options, const RunHooks &hooks)
      : experiment_(experiment), options_(options), hooks_(hooks),
        scenario_(scaled(experiment.scenario, options.scale)), named_(all_ports(options)),
        ports_(ports_of_role(named_, options.role)) {}

  Result<ExperimentResult> run() {
    XR_TRY(make());
    XR_TRY(judge_here());
    for (const std::string &port : release_stale_claims())
      note(fmt::format("{}: detached, as the run that had attached it has ended", port));
    if (Status s = check_ports(plan_, ports_, options_.names.speed); !s)
      return with_roles(s.error());
    describe();
    return go();
  }

private:
  void note(const std::string &text) const {
    if (options_.note)
      options_.note(text);
  }

  Status make() {
    plan_ = XR_TRY(make_plan(scenario_, named_.sender.here(), named_.wire()));
    if (!named_.wire() && !experiment_.rules.all.empty())
      return Error{fmt::format("{}: a rule needs a wire", experiment_.rules.all.front().name),
                   "left=IF,right=IF"};
    if (!named_.wire() && experiment_.analyze)
      return Error{"analyze: the captures are the wire's", "left=IF,right=IF"};
    if (Status s = plan_rules(experiment_, options_.scale, plan_); !s)
      return s;
    if (Status s = check_experiment(experiment_, plan_, named_); !s)
      return s;
    if (!plan_.captures.empty() && options_.out.empty())
      return Error{"a capture needs a directory for its files", "--out DIR"}.as_usage();
    const PortNames &names = options_.names;
    for (PlannedFlow &flow : plan_.flows) {
      flow.flow.path.src = names.src.value_or(flow.flow.path.src);
      flow.flow.path.dst = names.dst.value_or(flow.flow.path.dst);
    }
    if (names.dst)
      plan_.receivers = {*names.dst};
    else if (!plan_.ours)
      if (auto own = addresses_of(ports_.receiver); !own.empty())
        plan_.receivers = std::move(own);
    if (ports_.wire())
      return {};
    plan_.rules.clear();
    plan_.rule_changes.clear();
    plan_.changes.clear();
    return {};
  }

  // Each expectation is for a process that measures all of its columns.
  Status judge_here() {
    subject_ = subject_on_ports(experiment_, plan_, ports_);
    std::vector<Subject> others;
    if (!options_.role.empty())
      for (const std::string &role : options_.names.roles())
        others.push_back(subject_on_ports(experiment_, plan_, ports_of_role(named_, role)));
    for (const experiment::Expectation &expectation : experiment_.expectations) {
      const Status here = expectation.check(subject_);
      if (here)
        continue;
      const bool elsewhere = std::ranges::any_of(
          others, [&](const Subject &other) { return expectation.check(other).ok(); });
      if (!elsewhere)
        return Error{fmt::format("expect: {}", here.error().message), here.error().hint};
      note(fmt::format("\"{}\" is for another role", expectation.text()));
    }
    return {};
  }

  // A port that is not here may be another machine's.
  Error with_roles(Error error) const {
    if (options_.role.empty() && options_.names.roles().size() > 1 && error.hint.empty())
      error.hint = "a process for each role, on its machine: --role ROLE --at +30s";
    return error;
  }

  void describe() const {
    for (const std::string &command : options_.commands)
      note(command);
    if (options_.scale != 1)
      note(fmt::format("the run is at 1/{:.6g} of the rates and lasts {}", 1 / options_.scale,
                       parse::duration_text(scenario_.duration_ns)));
    if (scenario_.sample_ns && scenario_.sample_ns < kLeastSample)
      note(fmt::format("samples are {} apart, not {}", parse::duration_text(kLeastSample),
                       parse::duration_text(scenario_.sample_ns)));
  }

  bool go_on() const {
    return !hooks_.progress || hooks_.progress({0, experiment_.scenario.duration_ns, 0});
  }

  // Where the receivers are elsewhere, and their MAC is not given.
  Result<std::optional<packet::Mac>> find_peer() const {
    const std::optional<packet::Mac> &given = options_.names.dst_mac;
    if (given || !ports_.sender.here() || ports_.receiver.here())
      return given;
    const uint64_t patience =
        options_.at_ns ? options_.at_ns - std::min(options_.at_ns, realtime_ns() + kReadyIn)
                       : kMacPatience;
    return find_mac(ports_.sender, plan_, patience, [this] { return go_on(); });
  }

  // A switch between the ports learns where both are, and does not flood the first frames.
  Status learn() const {
    const packet::Path &path = plan_.flows.front().flow.path;
    for (const auto &[port, address] :
         {std::pair(&ports_.sender, path.src), {&ports_.receiver, path.dst}})
      if (port->here())
        XR_TRY(announce(*port, address));
    return {};
  }

  Status wait_until(uint64_t realtime) const {
    while (realtime_ns() < realtime) {
      if (!go_on())
        return Error{"interrupted before the start"};
      std::this_thread::sleep_for(
          std::chrono::nanoseconds(std::min(kStep, realtime - std::min(realtime, realtime_ns()))));
    }
    return {};
  }

  Status check_in_time() const {
    const uint64_t now = realtime_ns();
    if (!options_.at_ns || now + kLead <= options_.at_ns)
      return {};
    const uint64_t late_ms = (now + kLead - options_.at_ns) / kMillisecond + 1;
    return Error{fmt::format("the ports were ready {} too late",
                             parse::duration_text(late_ms * kMillisecond)),
                 "a later --at"};
  }

  Result<ExperimentResult> go() {
    std::vector<RunPort> mine;
    for (const RunPort *port : {&ports_.sender, &ports_.left, &ports_.right, &ports_.receiver})
      if (port->here())
        mine.push_back(*port);
    const auto peer = XR_TRY(find_peer());
    const auto claims = XR_TRY(PortClaims::take(mine));
    auto endpoints = Endpoints::prepare(plan_, scenario_, {.ports = ports_, .peer_mac = peer});
    if (!endpoints)
      return endpoints.error();
    for (const std::string &text : endpoints->notes())
      note(text);
    auto captures = XR_TRY(Captures::start(plan_, ports_, options_.out));
    auto counter = XR_TRY(Counter::open(plan_, ports_));
    XR_TRY(endpoints->start());
    XR_TRY(learn());
    XR_TRY(check_in_time());
    XR_TRY(wait_until(options_.at_ns - std::min(options_.at_ns, kLead)));
    return measure(endpoints.get(), captures, counter);
  }

  Result<ExperimentResult> measure(Endpoints &endpoints, Captures &captures, Counter &counter) {
    RuleRun rules(plan_, ports_);
    XR_TRY(rules.begin());
    XR_TRY(wait_until(options_.at_ns));
    // Other hosts may have sent before.
    if (!plan_.ours) {
      const auto before = XR_TRY(counter.read({}));
      counter.count_from(before);
    }
    XR_TRY(endpoints.start_senders());
    FramesRun run({.experiment = experiment_,
                   .scenario = scenario_,
                   .plan = plan_,
                   .subject = subject_,
                   .scale = options_.scale,
                   .place = "ports",
                   .hooks = hooks_,
                   .watch = watch_,
                   .ports = ports_,
                   .senders_elsewhere = plan_.ours && !ports_.sender.here()},
                  endpoints, counter, rules);
    XR_TRY(run.run());
    XR_TRY(captures.stop());
    run.add_reasons(captures.why_void());
    XR_TRY(endpoints.close());
    XR_TRY(captures.close());
    return run.result(hooks_.answers);
  }

  const Experiment &experiment_;
  const PortsOptions &options_;
  const RunHooks &hooks_;
  const Stopwatch watch_;
  simulate::Scenario scenario_; // scaled
  RunPorts named_, ports_;      // of all roles; of this process
  Plan plan_;
  Subject subject_;
};

} // namespace

Result<ExperimentResult> run_on_ports(const Experiment &experiment, const PortsOptions &options,
                                      const RunHooks &hooks) {
  return PortsRun(experiment, options, hooks).run();
}

} // namespace xr::places
