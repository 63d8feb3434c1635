// SPDX-License-Identifier: Apache-2.0
#include "analysis/job_steps.h"

#include <algorithm>
#include <numeric>

namespace xr {

namespace {

constexpr uint64_t kFloorNs = 10'000;
constexpr uint64_t kJitters = 8, kPairsJitters = 80; // more than these is an outlier
constexpr size_t kCauses = 3;

template <class T> T middle(std::vector<T> values) {
  if (values.empty())
    return T{};
  const auto at = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Whether half of the values are within a `part`th of the median.
bool near_the_median(const std::vector<uint64_t> &values, uint64_t part) {
  const uint64_t median = middle(values);
  const auto near = std::ranges::count_if(values, [median, part](uint64_t value) {
    return std::max(value, median) - std::min(value, median) <= median / part;
  });
  return 2 * static_cast<size_t>(near) >= values.size();
}

void join(JobPhases::Phase &to, const JobPhases::Phase &next) {
  to.step.last_ns = next.step.last_ns;
  to.step.bytes += next.step.bytes;
  for (size_t i = 0; i < to.senders.size(); i++)
    to.senders[i] |= next.senders[i];
}

// Phases that are apart by less are one.
std::vector<JobPhases::Phase> joined(const std::vector<JobPhases::Phase> &phases,
                                     uint64_t silence_ns) {
  std::vector<JobPhases::Phase> all;
  for (const JobPhases::Phase &phase : phases)
    if (!all.empty() && phase.step.first_ns - all.back().step.last_ns < silence_ns)
      join(all.back(), phase);
    else
      all.push_back(phase);
  return all;
}

std::vector<uint64_t> silences_of(const std::vector<JobPhases::Phase> &phases) {
  std::vector<uint64_t> silences;
  for (size_t i = 1; i < phases.size(); i++)
    silences.push_back(phases[i].step.first_ns - phases[i - 1].step.last_ns);
  return silences;
}

uint64_t separating_silence(const std::vector<JobPhases::Phase> &phases, uint64_t floor_ns) {
  std::vector<uint64_t> silences = silences_of(phases);
  const uint64_t sum = std::accumulate(silences.begin(), silences.end(), uint64_t{0});
  std::ranges::sort(silences);
  uint64_t above = sum, best = floor_ns, before = floor_ns;
  double most = 0;
  for (size_t i = 0; i < silences.size(); i++) {
    const double jump = static_cast<double>(silences[i]) / static_cast<double>(before);
    if (silences.size() - i >= 2 && above >= sum / 2 && jump > most) {
      most = jump;
      best = silences[i];
    }
    before = silences[i];
    above -= silences[i];
  }
  return best;
}

// A part in which a sender is missing is one with what follows.
std::vector<JobPhases::Phase> complete(const std::vector<JobPhases::Phase> &parts) {
  JobPhases::Phase all{};
  for (const JobPhases::Phase &part : parts)
    join(all, part);
  std::vector<JobPhases::Phase> steps;
  bool open = false;
  for (const JobPhases::Phase &part : parts) {
    if (open)
      join(steps.back(), part);
    else
      steps.push_back(part);
    open = steps.back().senders != all.senders;
  }
  return steps;
}

// How late each rank is in each step: [step * ranks + rank].
std::vector<uint64_t> lateness(const std::vector<JobSample> &samples, const JobTraffic &job,
                               JobCause cause) {
  std::vector<uint64_t> late(job.steps.size() * job.ranks.size());
  size_t step = 0;
  for (const JobSample &sample : samples) {
    while (step + 1 < job.steps.size() && sample.ns >= job.steps[step + 1].first_ns)
      step++;
    if (sample.cause != cause || sample.ns > job.steps[step].last_ns)
      continue;
    const uint64_t ready = std::max(sample.ready_ns, job.steps[step].first_ns);
    uint64_t &most = late[step * job.ranks.size() + sample.rank];
    most = std::max(most, sample.ns - std::min(sample.ns, ready));
  }
  return late;
}

// The latest rank of a step, if it is one.
struct Latest {
  uint32_t rank = 0;
  uint64_t late_ns = 0, second_ns = 0, above_ns = 0;
  bool stands_out = false;
};

Latest latest_of(const uint64_t *late, size_t ranks) {
  Latest latest;
  std::vector<uint64_t> all(late, late + ranks);
  latest.rank = static_cast<uint32_t>(std::ranges::max_element(all) - all.begin());
  latest.late_ns = all[latest.rank];
  for (uint32_t rank = 0; rank < ranks; rank++)
    if (rank != latest.rank)
      latest.second_ns = std::max(latest.second_ns, all[rank]);
  const uint64_t median = ranks > 2 ? middle(all) : latest.second_ns;
  for (uint64_t &ns : all)
    ns = std::max(ns, median) - std::min(ns, median);
  latest.above_ns = latest.late_ns - median;
  const double spread = ranks > 2 ? 1.4826 * static_cast<double>(middle(all)) : 0;
  latest.stands_out =
      latest.above_ns >= kFloorNs && static_cast<double>(latest.above_ns) > 6 * spread;
  return latest;
}

// Per step.
std::vector<Latest> latest_ranks(const std::vector<JobSample> &samples, const JobTraffic &job,
                                 JobCause cause) {
  const std::vector<uint64_t> late = lateness(samples, job, cause);
  std::vector<Latest> steps;
  std::vector<uint64_t> seconds;
  for (size_t step = 0; step < job.steps.size(); step++) {
    steps.push_back(latest_of(&late[step * job.ranks.size()], job.ranks.size()));
    seconds.push_back(steps.back().second_ns);
  }
  std::ranges::sort(seconds);
  const uint64_t jitter = seconds[(seconds.size() - 1) * 99 / 100];
  for (Latest &step : steps)
    step.stands_out = step.stands_out && step.late_ns > kJitters * jitter;
  return steps;
}

// The second latest of two ranks is the other one: how late the latest usually is says more.
void compare_with_usual(std::array<std::vector<Latest>, kCauses> &by_cause) {
  std::vector<uint64_t> late;
  for (size_t step = 0; step < by_cause[0].size(); step++) {
    late.push_back(0);
    for (const std::vector<Latest> &steps : by_cause)
      late.back() = std::max(late.back(), steps[step].late_ns);
  }
  const auto usual = late.begin() + static_cast<ptrdiff_t>(late.size() / 4);
  std::nth_element(late.begin(), usual, late.end());
  for (std::vector<Latest> &steps : by_cause)
    for (Latest &step : steps)
      step.stands_out = step.stands_out && step.late_ns > kPairsJitters * *usual;
}

constexpr size_t kOften = 24, kOfSteps = 32; // a moderately late rank

// The steps in which the rank is late beyond the noise of the others, of kOfSteps from `first` on:
// how late above their median.
std::vector<uint64_t> often_late(const std::vector<uint64_t> &late, size_t ranks, size_t first,
                                 uint32_t rank) {
  std::vector<uint64_t> others, above;
  for (size_t i = first * ranks; i < (first + kOfSteps) * ranks; i++)
    if (i % ranks != rank)
      others.push_back(late[i]);
  const uint64_t median = middle(others);
  const auto noise = others.begin() + static_cast<ptrdiff_t>(others.size() * 9 / 10);
  std::nth_element(others.begin(), noise, others.end());
  for (size_t step = first; step < first + kOfSteps; step++)
    if (const uint64_t own = late[step * ranks + rank]; own >= *noise + kFloorNs)
      above.push_back(own - median);
  return above;
}

void find_often_late(const std::vector<JobSample> &samples, JobTraffic &into) {
  const size_t ranks = into.ranks.size();
  std::array<std::vector<uint64_t>, kCauses> by_cause;
  std::vector<uint64_t> late(into.steps.size() * ranks);
  for (size_t cause = 0; cause < kCauses; cause++) {
    by_cause[cause] = lateness(samples, into, static_cast<JobCause>(cause));
    for (size_t i = 0; i < late.size(); i++)
      late[i] = std::max(late[i], by_cause[cause][i]);
  }
  std::vector<JobStraggler> &found = into.stragglers;
  for (size_t first = 0; first + kOfSteps <= into.steps.size(); first += kOfSteps / 2)
    for (uint32_t rank = 0; rank < ranks; rank++) {
      const std::vector<uint64_t> above = often_late(late, ranks, first, rank);
      if (above.size() < kOften)
        continue;
      const auto same = std::ranges::find_if(found, [&](const JobStraggler &one) {
        return one.rank == rank && one.first_step + one.steps >= first;
      });
      if (same != found.end()) {
        same->steps = first + kOfSteps - same->first_step;
        continue;
      }
      std::array<uint64_t, kCauses> of_cause{};
      for (size_t step = first; step < first + kOfSteps; step++)
        for (size_t cause = 0; cause < kCauses; cause++)
          of_cause[cause] += by_cause[cause][step * ranks + rank];
      found.push_back(
          {.rank = rank,
           .cause = static_cast<JobCause>(std::ranges::max_element(of_cause) - of_cause.begin()),
           .first_step = first,
           .steps = kOfSteps,
           .late_ns = middle(above)});
    }
}

} // namespace

void JobPhases::begin(uint64_t now) {
  while (phases_.size() >= kMost) {
    silence_ns_ *= 2;
    phases_ = joined(phases_, silence_ns_);
  }
  if (phases_.empty() || now - last_ns_ >= silence_ns_)
    phases_.emplace_back().step.first_ns = now;
}

namespace {

constexpr uint64_t kSilentPeriods = 3;

// Who is missing in the last step, if all others wait.
void find_silent(const std::vector<JobPhases::Phase> &steps, uint64_t end_ns, JobTraffic &into) {
  const uint64_t last = steps.back().step.last_ns;
  if (end_ns < last || end_ns - last < kSilentPeriods * into.period_ns)
    return;
  JobPhases::Phase all{};
  for (const JobPhases::Phase &step : steps)
    join(all, step);
  for (uint32_t rank = 0; rank < into.ranks.size(); rank++) {
    const uint64_t bit = uint64_t{1} << (rank % 64);
    if (all.senders[rank / 64] & bit && !(steps.back().senders[rank / 64] & bit))
      into.silent.push_back(rank);
  }
  into.silent_ns = end_ns - last;
}

} // namespace

void JobPhases::steps(JobTraffic &into, uint64_t end_ns) const {
  if (phases_.size() < 3)
    return;
  std::vector<Phase> parts = phases_;
  uint64_t floor_ns = silence_ns_;
  if (packets_ < 2 * phases_.size()) {
    parts = joined(phases_, 2 * middle(silences_of(phases_)));
    if (parts.size() < 3)
      return;
    floor_ns = std::ranges::min(silences_of(parts));
  }
  into.silence_ns = separating_silence(parts, floor_ns);
  parts = joined(parts, into.silence_ns);
  std::vector<Phase> steps = complete(parts);
  if (steps.size() < 3)
    steps = parts;
  if (steps.size() < 3)
    return;
  std::vector<uint64_t> periods;
  std::vector<double> duties;
  for (size_t i = 0; i < steps.size(); i++) {
    const JobStep &step = into.steps.emplace_back(steps[i].step);
    if (!i)
      continue;
    const JobStep &before = into.steps[i - 1];
    periods.push_back(step.first_ns - before.first_ns);
    duties.push_back(static_cast<double>(before.last_ns - before.first_ns) /
                     static_cast<double>(periods.back()));
  }
  into.period_ns = middle(periods);
  std::vector<uint64_t> bytes;
  for (const JobStep &step : into.steps)
    bytes.push_back(step.bytes);
  into.repeats = near_the_median(bytes, 10) && near_the_median(periods, 4);
  into.duty = middle(duties);
  find_silent(steps, end_ns, into);
}

void find_stragglers(const std::vector<JobSample> &samples, JobTraffic &into) {
  if (!into.is_job() || into.ranks.size() < 2)
    return;
  std::array<std::vector<Latest>, kCauses> by_cause;
  for (size_t cause = 0; cause < kCauses; cause++)
    by_cause[cause] = latest_ranks(samples, into, static_cast<JobCause>(cause));
  if (into.ranks.size() == 2)
    compare_with_usual(by_cause);
  std::vector<uint64_t> above;
  std::array<uint64_t, kCauses> of_cause{};
  const auto end = [&] {
    if (above.size() >= 2) {
      JobStraggler &straggler = into.stragglers.back();
      straggler.steps = above.size();
      straggler.late_ns = middle(above);
      straggler.cause =
          static_cast<JobCause>(std::ranges::max_element(of_cause) - of_cause.begin());
    } else if (!above.empty()) {
      into.stragglers.pop_back();
    }
    above.clear();
    of_cause.fill(0);
  };
  for (size_t step = 0; step < into.steps.size(); step++) {
    // A rank that computes late is late as both: what it is more is the cause.
    const Latest *latest = nullptr;
    size_t cause = 0;
    for (size_t i = 0; i < kCauses; i++)
      if (const Latest &of = by_cause[i][step];
          of.stands_out && (!latest || of.above_ns > latest->above_ns)) {
        latest = &of;
        cause = i;
      }
    if (above.empty() || !latest || latest->rank != into.stragglers.back().rank)
      end();
    if (!latest)
      continue;
    into.steps[step].late_rank = latest->rank;
    into.steps[step].late_ns = latest->above_ns;
    if (above.empty())
      into.stragglers.push_back({latest->rank, {}, step, 0, 0});
    above.push_back(latest->above_ns);
    of_cause[cause] += latest->above_ns;
  }
  end();
  if (into.stragglers.empty())
    find_often_late(samples, into);
}

} // namespace xr
