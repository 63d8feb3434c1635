// SPDX-License-Identifier: Apache-2.0
#include "places/namespaces.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/stopwatch.h"
#include "experiment/verdict.h"
#include "parse/value.h"
#include "places/captures.h"
#include "places/endpoints.h"
#include "places/measure.h"
#include "places/rules.h"
#include "places/scale.h"

namespace xr::places {

namespace {

using experiment::Experiment;
using experiment::RunHooks;
using experiment::Subject;

constexpr uint64_t kLeastSample = 10'000'000; // ns of the run
constexpr uint64_t kLook = 5'000'000;         // for flows that complete
constexpr uint64_t kProgress = 100'000'000;
constexpr uint64_t kSettle = 3'000'000'000; // until all frames have arrived
constexpr int64_t kJump = 1'000'000'000;    // of the clocks; a thread may wait between two readings

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

// How long the machine was suspended: the clock of the run stops meanwhile.
int64_t suspended_ns() {
  return static_cast<int64_t>(clock_ns(CLOCK_BOOTTIME)) -
         static_cast<int64_t>(clock_ns(CLOCK_MONOTONIC));
}

void sleep_until(uint64_t ns) {
  const uint64_t now = monotonic_ns();
  if (ns > now)
    std::this_thread::sleep_for(std::chrono::nanoseconds(ns - now));
}

class NamespacesRun {
public:
  NamespacesRun(const Experiment &experiment, const simulate::Scenario &scenario, const Plan &plan,
                Subject subject, double scale, const RunHooks &hooks, const Stopwatch &watch,
                Endpoints &endpoints, Counter &counter, RuleRun &rules)
      : experiment_(experiment), scenario_(scenario), plan_(plan), subject_(std::move(subject)),
        scale_(scale), hooks_(hooks), watch_(watch), endpoints_(endpoints), counter_(counter),
        rules_(rules), measurement_(plan, scale, endpoints.begun_ns()) {
    for (const experiment::Expectation &expectation : experiment.expectations)
      expectation.keep_samples(store_);
    begun_ = endpoints.begun_ns();
    last_.t_ns = begun_;
    last_.flows.resize(plan.flows.size());
    end_ = begun_ + scenario.duration_ns;
    measure_at_ = begun_ + scenario.measure_from_ns;
    sample_every_ = scenario.sample_ns ? std::max(scenario.sample_ns, kLeastSample) : 0;
    sample_at_ = sample_every_ ? begun_ + sample_every_ : UINT64_MAX;
    const bool complete = std::any_of(plan.flows.begin(), plan.flows.end(),
                                      [](const PlannedFlow &flow) { return flow.packets; });
    look_at_ = complete ? begun_ + kLook : UINT64_MAX;
    progress_at_ = begun_;
  }

  Status run() {
    while (true) {
      const uint64_t change =
          changed_ < plan_.changes.size() ? begun_ + plan_.changes[changed_].at_ns : UINT64_MAX;
      const uint64_t rule = rules_changed_ < plan_.rule_changes.size()
                                ? begun_ + plan_.rule_changes[rules_changed_].at_ns
                                : UINT64_MAX;
      const uint64_t next =
          std::min({sample_at_, measure_at_, look_at_, progress_at_, change, rule, end_});
      sleep_until(next);
      if (Status s = endpoints_.check(); !s)
        return s;
      if (next == change)
        if (Status s = endpoints_.set_link(plan_.changes[changed_++].words); !s)
          return s;
      if (next == rule)
        if (Status s = rules_.change(plan_.rule_changes[rules_changed_++]); !s)
          return s;
      const bool reads = next == sample_at_ || next == measure_at_ || next == look_at_;
      if (next == progress_at_) {
        progress_at_ += kProgress;
        if (!go_on())
          break;
      }
      if (reads)
        if (Status s = read(); !s)
          return s;
      if (Status s = partial(); !s)
        return s;
      if (monotonic_ns() >= end_) {
        complete_ = true;
        break;
      }
    }
    return finish();
  }

  void add_reasons(const std::vector<std::string> &reasons) {
    why_.insert(why_.end(), reasons.begin(), reasons.end());
  }

  ExperimentResult result() const {
    ExperimentResult result{.name = experiment_.name,
                            .place = "namespaces",
                            .version = {},
                            .scale = scale_,
                            .seed = experiment_.scenario.seed,
                            .measured = measurement_.result(last_),
                            .prediction = experiment_.prediction,
                            .checks = {}};
    result.measured.rules = rule_rows_;
    result.measured.wall_s = watch_.wall_s();
    result.measured.cpu_s = watch_.cpu_s();
    std::vector<std::string> &why = result.measured.why_void;
    why = why_;
    if (!complete_)
      why.push_back(fmt::format("the run ended at {} of {}",
                                parse::duration_text(measurement_.time_of(last_.t_ns)),
                                parse::duration_text(experiment_.scenario.duration_ns)));
    if (!result.measured.packets)
      why.emplace_back("no frame was sent");
    experiment::judge(result, experiment_, subject_, store_, complete_);
    return result;
  }

private:
  bool go_on() const {
    return !hooks_.progress ||
           hooks_.progress({measurement_.time_of(monotonic_ns()), experiment_.scenario.duration_ns,
                            Measurement::hops(last_)});
  }

  Result<Reading> reading() {
    auto now = counter_.read(endpoints_.sender());
    if (!now)
      return now;
    const WireReport wire = endpoints_.wire();
    now->left = wire.ports[0].counts;
    now->right = wire.ports[1].counts;
    return now;
  }

  Status read() {
    auto now = reading();
    if (!now)
      return now.error();
    last_ = std::move(now).get();
    measurement_.look(last_);
    if (last_.t_ns >= measure_at_) {
      measurement_.begin(last_);
      measure_at_ = UINT64_MAX;
    }
    if (look_at_ != UINT64_MAX)
      look_at_ = last_.t_ns + kLook;
    measurement_.end(last_);
    if (last_.t_ns < sample_at_)
      return {};
    while (sample_at_ <= last_.t_ns)
      sample_at_ += sample_every_;
    const std::vector<ExperimentSample> samples = measurement_.sample(last_);
    experiment::keep_samples(store_, samples);
    return hooks_.samples ? hooks_.samples(samples, subject_) : Status();
  }

  Status partial() {
    if (!hooks_.partial || watch_.wall_s() < next_partial_)
      return {};
    next_partial_ = watch_.wall_s() + hooks_.partial_s;
    return hooks_.partial(result());
  }

  // What is on its way arrives before the flows' losses are counted.
  Status finish() {
    if (Status s = read(); !s)
      return s;
    endpoints_.stop_senders();
    const uint64_t until = monotonic_ns() + kSettle;
    while (monotonic_ns() < until) {
      sleep_until(monotonic_ns() + 2 * kLook);
      auto now = reading();
      if (!now)
        return now.error();
      const bool settled = now->right && !now->right->in.holding && !now->left->in.holding &&
                           now->t_ns > last_.t_ns && same(now.get(), last_);
      last_ = std::move(now).get();
      if (settled)
        break;
    }
    auto rows = rules_.read(experiment_.rules);
    if (!rows)
      return rows.error();
    rule_rows_ = std::move(rows).get();
    if (suspended_ns() - suspended_ > kJump)
      why_.emplace_back("the machine was suspended meanwhile");
    for (std::string &reason :
         why_void(plan_, endpoints_.sender(), endpoints_.responder(), endpoints_.wire()))
      why_.push_back(std::move(reason));
    return {};
  }

  static bool same(const Reading &a, const Reading &b) {
    return std::equal(a.flows.begin(), a.flows.end(), b.flows.begin(),
                      [](const FlowCounts &x, const FlowCounts &y) {
                        return x.sent == y.sent && x.received == y.received && x.cnps == y.cnps;
                      });
  }

  const Experiment &experiment_;
  const simulate::Scenario &scenario_; // scaled
  const Plan &plan_;
  Subject subject_;
  double scale_;
  const RunHooks &hooks_;
  const Stopwatch &watch_;
  Endpoints &endpoints_;
  Counter &counter_;
  RuleRun &rules_;
  std::vector<ExperimentRule> rule_rows_;
  Measurement measurement_;
  experiment::SampleStore store_;
  Reading last_;
  std::vector<std::string> why_;
  bool complete_ = false;
  int64_t suspended_ = suspended_ns();
  double next_partial_ = 5;
  size_t changed_ = 0, rules_changed_ = 0;
  // CLOCK_MONOTONIC
  uint64_t begun_ = 0, end_ = 0, measure_at_ = 0, sample_at_ = 0, look_at_ = 0, progress_at_ = 0;
  uint64_t sample_every_ = 0;
};

} // namespace

Result<ExperimentResult> run_in_namespaces(const Experiment &experiment,
                                           const NamespacesOptions &options,
                                           const RunHooks &hooks) {
  const Stopwatch watch;
  const simulate::Scenario scenario = scaled(experiment.scenario, options.scale);
  auto plan = make_plan(scenario);
  if (!plan)
    return plan.error();
  if (Status s = plan_rules(experiment, options.scale, plan.get()); !s)
    return s.error();
  if (!experiment.captures.empty() && options.out.empty())
    return Error{"a capture needs a directory for its files", "--out DIR"};
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
  if (scenario.sample_ns && scenario.sample_ns < kLeastSample)
    note(fmt::format("samples are {} apart, not {}", parse::duration_text(kLeastSample),
                     parse::duration_text(scenario.sample_ns)));
  const auto lane = Lane::make(plan.get().mtu);
  if (!lane)
    return lane.error();
  auto endpoints = Endpoints::prepare(plan.get(), scenario, lane.get());
  if (!endpoints)
    return endpoints.error();
  auto captures = Captures::start(plan.get(), lane.get(), options.out);
  if (!captures)
    return captures.error();
  auto counter =
      Counter::open(plan.get(), lane.get().senders(), lane.get().wire(), lane.get().receivers());
  if (!counter)
    return counter.error();
  if (Status s = endpoints->start(); !s)
    return s.error();
  // Their schedules begin with them: just before the first packet.
  RuleRun rules(plan.get(), lane.get().wire());
  if (Status s = rules.begin(); !s)
    return s.error();
  if (Status s = endpoints->start_senders(); !s)
    return s.error();
  NamespacesRun run(experiment, scenario, plan.get(), std::move(subject).get(), options.scale,
                    hooks, watch, endpoints.get(), counter.get(), rules);
  if (Status s = run.run(); !s)
    return s.error();
  if (Status s = captures->stop(); !s)
    return s.error();
  run.add_reasons(captures->why_void());
  if (Status s = endpoints->close(); !s)
    return s.error();
  if (Status s = captures->close(); !s)
    return s.error();
  return run.result();
}

} // namespace xr::places
