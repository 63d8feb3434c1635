// SPDX-License-Identifier: Apache-2.0
#include "congestion/fluid.h"

#include <algorithm>
#include <cmath>

#include "congestion/theory.h"

namespace xr::congestion {

namespace {

constexpr double kLongestStep = 1e-6, kShortestStep = 50e-9;
constexpr double kStepsOfDelay = 4;
constexpr double kSettled = 0.05; // of the mean queue
constexpr double kJudged = 0.8;   // results are of the time after this part

struct State {
  double rate, target, alpha; // packets/s
};

// Values of the last `delay` steps: rates of the groups and the marking probability.
class Past {
public:
  Past(size_t steps, const std::vector<State> &groups)
      : steps_(steps), width_(groups.size() + 1), values_(steps * width_) {
    for (size_t i = 0; i < steps; i++) {
      for (size_t k = 0; k < groups.size(); k++)
        values_[i * width_ + k] = groups[k].rate;
      values_[i * width_ + groups.size()] = 0; // no queue before the start
    }
  }
  double rate(size_t group) const { return values_[at_ * width_ + group]; }
  double probability() const { return values_[at_ * width_ + width_ - 1]; }
  void push(const std::vector<State> &groups, double p) {
    for (size_t k = 0; k < groups.size(); k++)
      values_[at_ * width_ + k] = groups[k].rate;
    values_[at_ * width_ + width_ - 1] = p;
    at_ = (at_ + 1) % steps_;
  }

private:
  size_t steps_, width_, at_ = 0;
  std::vector<double> values_;
};

double mark_probability(const ModelUnits &u, double queue) {
  if (queue <= u.kmin)
    return 0;
  return queue <= u.kmax ? (queue - u.kmin) * u.slope : 1;
}

class Integration {
public:
  Integration(const DcqcnSettings &settings, const Bottleneck &path, const FluidRun &run)
      : u_(settings, path), path_(path), run_(run), least_(settings.min_rate / bits()),
        counts_(group_counts()), groups_(starts(settings)), past_(delay_steps(), groups_) {}

  FluidResult all() {
    const auto steps = static_cast<uint64_t>(static_cast<double>(run_.duration_ns) * 1e-9 / step_);
    const auto every = std::max<uint64_t>(
        1, static_cast<uint64_t>(static_cast<double>(run_.sample_ns) * 1e-9 / step_));
    const auto judged = static_cast<uint64_t>(static_cast<double>(steps) * kJudged);
    result_.queue_least = 1e300;
    result_.rates.assign(groups_.size(), 0);
    for (uint64_t i = 0; i < steps; i++) {
      if (i % every == 0)
        sample(static_cast<double>(i) * step_);
      step();
      if (i >= judged)
        judge();
    }
    finish(static_cast<double>(steps - judged));
    return std::move(result_);
  }

private:
  double bits() const { return path_.packet_bytes * 8; }

  size_t delay_steps() {
    const double delay = std::max(static_cast<double>(path_.delay_ns) * 1e-9, kShortestStep);
    step_ = std::clamp(delay / kStepsOfDelay, kShortestStep, kLongestStep);
    return std::max<size_t>(1, static_cast<size_t>(std::lround(delay / step_)));
  }

  std::vector<double> group_counts() const {
    std::vector<double> counts;
    for (const FluidGroup &group : run_.groups)
      counts.push_back(group.flows);
    if (counts.empty())
      counts.push_back(path_.flows);
    return counts;
  }

  std::vector<State> starts(const DcqcnSettings &settings) const {
    std::vector<State> states;
    for (const FluidGroup &group : run_.groups)
      states.push_back(
          {group.rate_bits / bits(), group.rate_bits / bits(), settings.alpha_initial});
    if (states.empty())
      states.push_back({u_.c, u_.c, settings.alpha_initial});
    return states;
  }

  void step() {
    const double p = past_.probability();
    double sum = 0;
    moved_ = groups_;
    for (size_t k = 0; k < groups_.size(); k++) {
      move(moved_[k], past_.rate(k), p);
      sum += counts_[k] * groups_[k].rate;
    }
    past_.push(groups_, mark_probability(u_, queue_));
    queue_ = std::clamp(queue_ + (sum - u_.c) * step_, 0.0,
                        std::max(run_.buffer_bytes / path_.packet_bytes, u_.kmax));
    sent_ = queue_ > 0 ? u_.c : std::min(sum, u_.c);
    groups_.swap(moved_);
  }

  void move(State &s, double past_rate, double p) const {
    const ModelTerms t(u_, p, past_rate);
    const double gap = s.target - s.rate;
    const double rate = -s.rate * s.alpha * t.a / (2 * u_.tau) + gap * past_rate * (t.b + t.d) / 2;
    const double target = -gap * t.a / u_.tau + u_.rai * past_rate * (t.c + t.e);
    const double marked =
        1 - std::exp(u_.tau_alpha * past_rate * std::log1p(-std::min(p, 1 - 1e-15)));
    s.alpha += u_.g / u_.tau_alpha * (marked - s.alpha) * step_;
    s.rate = std::clamp(s.rate + rate * step_, std::max(least_, 1e-6 * u_.rc), u_.c);
    s.target = std::clamp(s.target + target * step_, s.rate, u_.c);
  }

  void sample(double t) {
    FluidSample sample{
        static_cast<uint64_t>(std::llround(t * 1e9)), queue_ * path_.packet_bytes, {}, {}};
    for (const State &s : groups_) {
      sample.rates.push_back(s.rate * bits());
      sample.alphas.push_back(s.alpha);
    }
    result_.samples.push_back(std::move(sample));
  }

  void judge() {
    const double queue = queue_ * path_.packet_bytes;
    result_.queue_mean += queue;
    result_.queue_least = std::min(result_.queue_least, queue);
    result_.queue_most = std::max(result_.queue_most, queue);
    result_.utilisation += sent_ / u_.c;
    for (size_t k = 0; k < groups_.size(); k++)
      result_.rates[k] += groups_[k].rate * bits();
  }

  void finish(double steps) {
    result_.queue_mean /= steps;
    result_.utilisation /= steps;
    for (double &rate : result_.rates)
      rate /= steps;
    result_.amplitude = (result_.queue_most - result_.queue_least) / 2;
    result_.settles =
        result_.amplitude <= std::max(kSettled * result_.queue_mean, path_.packet_bytes);
  }

  ModelUnits u_;
  Bottleneck path_;
  FluidRun run_;
  double least_;
  double step_ = 0;
  std::vector<double> counts_;
  std::vector<State> groups_, moved_;
  Past past_;
  double queue_ = 0, sent_ = 0;
  FluidResult result_;
};

} // namespace

FluidResult integrate(const DcqcnSettings &settings, const Bottleneck &path, const FluidRun &run) {
  return Integration(settings, path, run).all();
}

} // namespace xr::congestion
