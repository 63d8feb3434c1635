// SPDX-License-Identifier: Apache-2.0
#include "places/frames_run.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "experiment/verdict.h"
#include "places/result.h"

namespace xr::places {

namespace {

constexpr uint64_t kLook = 5'000'000; // for flows that complete
constexpr uint64_t kProgress = 100'000'000;
constexpr uint64_t kSettle = 3'000'000'000; // until all frames have arrived
constexpr uint64_t kSettleElsewhere = 300'000'000;
constexpr int64_t kJump = 1'000'000'000; // of the clocks; a thread may wait between two readings

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

} // namespace

FramesRun::FramesRun(FramesRunSetup setup, Endpoints &endpoints, Counter &counter, RuleRun &rules)
    : at_(std::move(setup)), endpoints_(endpoints), counter_(counter), rules_(rules),
      measurement_(at_.plan, at_.scale, endpoints.begun_ns()), suspended_(suspended_ns()) {
  for (const experiment::Expectation &expectation : at_.experiment.expectations)
    expectation.keep_samples(store_);
  begun_ = endpoints.begun_ns();
  last_.t_ns = begun_;
  last_.flows.resize(at_.plan.flows.size());
  end_ = begun_ + at_.scenario.duration_ns;
  // From the start: readings count from there, and the first one would leave out what it has.
  const uint64_t from = at_.scenario.measure_from_ns;
  measure_at_ = from ? begun_ + from : UINT64_MAX;
  sample_every_ = at_.scenario.sample_ns ? std::max(at_.scenario.sample_ns, kLeastSample) : 0;
  sample_at_ = sample_every_ ? begun_ + sample_every_ : UINT64_MAX;
  const bool complete = std::any_of(at_.plan.flows.begin(), at_.plan.flows.end(),
                                    [](const PlannedFlow &flow) { return flow.packets; });
  look_at_ = complete ? begun_ + kLook : UINT64_MAX;
  progress_at_ = begun_;
}

Status FramesRun::run() {
  const Plan &plan = at_.plan;
  while (true) {
    const uint64_t change =
        changed_ < plan.changes.size() ? begun_ + plan.changes[changed_].at_ns : UINT64_MAX;
    const uint64_t rule = rules_changed_ < plan.rule_changes.size()
                              ? begun_ + plan.rule_changes[rules_changed_].at_ns
                              : UINT64_MAX;
    const uint64_t next =
        std::min({sample_at_, measure_at_, look_at_, progress_at_, change, rule, end_});
    sleep_until(next);
    if (Status s = endpoints_.check(); !s)
      return s;
    if (next == change) {
      if (Status s = endpoints_.set_link(plan.changes[changed_++].words); !s)
        return s;
      note_change(change);
    }
    if (next == rule) {
      if (Status s = rules_.change(plan.rule_changes[rules_changed_++]); !s)
        return s;
      note_change(rule);
    }
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

void FramesRun::note_change(uint64_t due_ns) {
  std::string why = why_late(due_ns - begun_, monotonic_ns() - due_ns);
  if (!why.empty())
    why_.push_back(std::move(why));
}

void FramesRun::add_reasons(const std::vector<std::string> &reasons) {
  why_.insert(why_.end(), reasons.begin(), reasons.end());
}

ExperimentResult FramesRun::result(const experiment::AnswersOf &answers_of) const {
  ExperimentMeasurement measured = measurement_.result(last_);
  measured.rules = rule_rows_;
  for (const auto &[column, why] : at_.subject.absent)
    measured.unmeasured.emplace(column.second);
  measured.begun_ns = begun_ + realtime_ns() - monotonic_ns();
  measured.why_void = why_;
  const bool sent = measured.packets;
  return result_of({.experiment = at_.experiment,
                    .subject = at_.subject,
                    .samples = store_,
                    .watch = at_.watch,
                    .place = at_.place,
                    .scale = at_.scale,
                    .complete = complete_,
                    .sent = sent,
                    .now_ns = measurement_.time_of(last_.t_ns)},
                   std::move(measured), answers_of);
}

bool FramesRun::go_on() const {
  return !at_.hooks.progress ||
         at_.hooks.progress({measurement_.time_of(monotonic_ns()),
                             at_.experiment.scenario.duration_ns, Measurement::hops(last_)});
}

Result<Reading> FramesRun::reading() {
  auto now = counter_.read(endpoints_.sender());
  if (!now)
    return now;
  const WireReport wire = endpoints_.wire();
  now->left = wire.ports[0].counts;
  now->right = wire.ports[1].counts;
  return now;
}

Status FramesRun::read() {
  last_ = XR_TRY(reading());
  measurement_.look(last_);
  if (last_.t_ns >= measure_at_) {
    measurement_.begin(last_);
    if (at_.ports.wire())
      if (Status s = rules_.begin_measure(at_.experiment.rules); !s)
        return s;
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
  return at_.hooks.samples ? at_.hooks.samples(samples, at_.subject) : Status();
}

Status FramesRun::partial() {
  if (!at_.hooks.partial || at_.watch.wall_s() < next_partial_)
    return {};
  next_partial_ = at_.watch.wall_s() + at_.hooks.partial_s;
  return at_.hooks.partial(result());
}

namespace {

bool same(const Reading &a, const Reading &b) {
  return std::equal(a.flows.begin(), a.flows.end(), b.flows.begin(),
                    [](const FlowCounts &x, const FlowCounts &y) {
                      return x.sent == y.sent && x.received == y.received && x.cnps == y.cnps;
                    });
}

bool holds_frames(const Reading &now) {
  return (now.right && now.right->in.holding) || (now.left && now.left->in.holding);
}

} // namespace

// What is on its way arrives before the flows' losses are counted.
Status FramesRun::settle() {
  const uint64_t least = at_.senders_elsewhere ? kSettleElsewhere + 2 * at_.plan.path_ns : 0;
  const uint64_t from = monotonic_ns(), until = from + kSettle + least;
  while (monotonic_ns() < until) {
    sleep_until(monotonic_ns() + 2 * kLook);
    auto now = XR_TRY(reading());
    const bool settled = !holds_frames(now) && now.t_ns > last_.t_ns && same(now, last_) &&
                         monotonic_ns() > from + least;
    last_ = std::move(now);
    if (settled)
      break;
  }
  return {};
}

// Flows of other hosts continue: they are counted until the end of the run.
Status FramesRun::finish() {
  if (Status s = read(); !s)
    return s;
  endpoints_.stop_senders();
  if (at_.plan.ours)
    if (Status s = settle(); !s)
      return s;
  if (at_.ports.wire()) {
    rule_rows_ = XR_TRY(rules_.read(at_.experiment.rules));
  }
  find_reasons();
  return {};
}

void FramesRun::find_reasons() {
  if (suspended_ns() - suspended_ > kJump)
    why_.emplace_back("the machine was suspended meanwhile");
  for (std::string &reason :
       why_void(at_.plan, endpoints_.sender(), endpoints_.responder(), endpoints_.wire()))
    why_.push_back(std::move(reason));
  if (at_.plan.ours)
    return;
  for (size_t i = 0; i < at_.plan.flows.size(); i++)
    if (!last_.flows[i].qp)
      why_.push_back(fmt::format("{}: no request of its QPs came", at_.plan.flows[i].name));
}

} // namespace xr::places
