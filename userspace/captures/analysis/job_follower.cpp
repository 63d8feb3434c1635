// SPDX-License-Identifier: Apache-2.0
#include "analysis/job_follower.h"

#include <algorithm>

#include "analysis/job_pattern.h"
#include "analysis/job_steps.h"
#include "roce/job_record.h"

namespace xr {

namespace {

constexpr uint32_t kNoRank = UINT32_MAX;

} // namespace

uint32_t JobFollower::rank_of(const Address &address) {
  const auto [at, fresh] = rank_numbers_.try_emplace(address, static_cast<uint32_t>(ranks_.size()));
  if (!fresh)
    return at->second;
  if (ranks_.size() == kJobRanks) {
    rank_numbers_.erase(at);
    return kNoRank;
  }
  ranks_.push_back(address);
  return at->second;
}

// An open burst is over when nothing came for so long that the next message begins another one.
void JobFollower::take(const JobBursts::Pair &pair, uint64_t now_ns) {
  const uint32_t from = rank_of(pair.src), to = rank_of(pair.dst);
  if (from == kNoRank || to == kNoRank) {
    full_++;
    return;
  }
  Pair &own = pairs_[{from, to}];
  const auto add = [&](const JobBursts::Burst &burst) {
    if (burst.first_ns != own.open_ns)
      bursts_.push_back({burst.first_ns, burst.last_ns, burst.bytes, burst.messages, from, to});
  };
  if (pair.count < own.taken) // another attachment
    own = {};
  const uint64_t fresh = pair.count - own.taken;
  const uint64_t there = std::min<uint64_t>(fresh, pair.ended.size());
  if (fresh > there) {
    missed_ += fresh - there;
    if (there)
      whole_since_ = std::max(whole_since_, pair.ended[pair.ended.size() - there].first_ns);
  }
  for (size_t i = pair.ended.size() - there; i < pair.ended.size(); i++)
    add(pair.ended[i]);
  own.taken = pair.count;
  if (pair.open.last_ns && now_ns >= pair.open.last_ns + ROCE_JOB_GAP_NS) {
    add(pair.open);
    own.open_ns = pair.open.first_ns;
  }
}

void JobFollower::add(const JobBursts &reading, uint64_t now_ns) {
  const uint64_t missed = missed_;
  forget();
  for (const JobBursts::Pair &pair : reading.pairs)
    take(pair, now_ns);
  if (missed_ != missed) // what is before the gap is not one with what follows
    forget_before(whole_since_);
  std::ranges::stable_sort(bursts_, {}, &Burst::first_ns);
  if (bursts_.size() > kBursts)
    bursts_.erase(bursts_.begin(), bursts_.end() - kBursts);
  find(now_ns);
  job_.ranks_full = full_ + reading.full;
}

void JobFollower::find(uint64_t now_ns) {
  job_ = {};
  job_.ranks = ranks_;
  std::map<std::pair<uint32_t, uint32_t>, JobEdge> edges;
  JobPhases phases;
  struct End {
    uint64_t at;
    uint32_t from, to;
  };
  std::vector<End> ends;
  for (const Burst &burst : bursts_) {
    phases.burst(burst.first_ns, burst.last_ns, burst.from, burst.bytes);
    JobEdge &edge = edges[{burst.from, burst.to}];
    edge.from = burst.from;
    edge.to = burst.to;
    edge.bytes += burst.bytes;
    edge.messages += burst.messages;
    ends.push_back({burst.last_ns, burst.from, burst.to});
  }
  std::ranges::stable_sort(ends, {}, &End::at);
  for (const auto &[hosts, edge] : edges)
    job_.edges.push_back(edge);
  std::ranges::stable_sort(job_.edges,
                           [](const JobEdge &a, const JobEdge &b) { return a.bytes > b.bytes; });
  find_pattern(job_);
  phases.steps(job_, now_ns);

  // A rank could continue when its last burst to the same host had left, and the last one to it had
  // come.
  std::vector<JobSample> samples;
  std::vector<uint64_t> arrived(ranks_.size());
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> left;
  std::vector<std::map<uint32_t, uint64_t>> senders(ranks_.size()); // to a rank: until when
  size_t ended = 0;
  for (const Burst &burst : bursts_) {
    for (; ended < ends.size() && ends[ended].at <= burst.first_ns; ended++) {
      arrived[ends[ended].to] = ends[ended].at;
      left[{ends[ended].from, ends[ended].to}] = ends[ended].at;
    }
    samples.push_back({std::max(arrived[burst.from], left[{burst.from, burst.to}]), burst.first_ns,
                       burst.from, JobCause::LateStart});
    uint64_t &until = senders[burst.to][burst.from];
    until = std::max(until, burst.last_ns);
    for (JobIncast &most : job_.incast) {
      uint32_t count = 0;
      for (const auto &[sender, last] : senders[burst.to])
        count += last + most.window_ns > burst.first_ns;
      if (count > most.senders)
        most = {most.window_ns, count, burst.to, burst.first_ns};
    }
  }
  find_stragglers(samples, job_);
}

// A ring has fewer stages than twice its ranks; a longer step has eight silences when it is known
// too. After the beginning a long silence is a stall.
bool JobFollower::settled() const {
  constexpr size_t kFew = 8, kBeginning = 64;
  constexpr uint64_t kLongPeriods = 4;
  if (before_ + job_.steps.size() > kBeginning)
    return true;
  size_t silences = 0;
  for (size_t i = 1; i < job_.steps.size(); i++)
    silences += job_.steps[i].first_ns - job_.steps[i - 1].last_ns > kLongPeriods * job_.period_ns;
  return job_.steps.size() >= std::max(kFew, 2 * ranks_.size()) && (!silences || silences >= kFew);
}

void JobFollower::forget() {
  if (job_.steps.size() <= 2 * kSteps)
    return;
  forget_before(job_.steps[job_.steps.size() - kSteps].first_ns);
}

void JobFollower::forget_before(uint64_t ns) {
  before_ += std::erase_if(job_.steps, [ns](const JobStep &step) { return step.first_ns < ns; });
  std::erase_if(bursts_, [ns](const Burst &burst) { return burst.first_ns < ns; });
}

} // namespace xr
