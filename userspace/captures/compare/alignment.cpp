// SPDX-License-Identifier: Apache-2.0
#include "compare/alignment.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace xr::compare {

namespace {

// Copies of one packet in a sample above which it says nothing.
constexpr size_t kMostCopies = 4;

int64_t quantile(const std::vector<int64_t> &sorted, double fraction) {
  return sorted[static_cast<size_t>(fraction * static_cast<double>(sorted.size() - 1))];
}

Path spread(const std::vector<int64_t> &sorted) {
  Path path;
  path.usual_ns = quantile(sorted, 0.5);
  path.low_ns = quantile(sorted, 0.01);
  path.high_ns = quantile(sorted, 0.99);
  path.margin_ns = std::max(path.high_ns - path.usual_ns, path.usual_ns - path.low_ns);
  return path;
}

std::vector<Survey::Anchor> sorted_anchors(const Survey &survey, uint64_t threshold) {
  std::vector<Survey::Anchor> anchors;
  for (const Survey::Anchor &anchor : survey.anchors())
    if (anchor.hash <= threshold)
      anchors.push_back(anchor);
  std::stable_sort(anchors.begin(), anchors.end(),
                   [](const auto &a, const auto &b) { return a.hash < b.hash; });
  return anchors;
}

size_t end_of(const std::vector<Survey::Anchor> &anchors, size_t from) {
  size_t to = from;
  while (to < anchors.size() && anchors[to].hash == anchors[from].hash)
    to++;
  return to;
}

} // namespace

// A packet does not arrive before it was sent. Where the clocks are not known to agree, the least
// differences of the others and their variation are the limit. Taps without a latency between them
// have times that vary by some 100 ns: these are not impossible.
int64_t Path::impossible_ns(int64_t usual) const {
  constexpr int64_t kStampVariation = 1000;
  const int64_t earliest = earliest_ns(usual);
  if (!clock_ns)
    return earliest - std::max(margin_ns, kStampVariation);
  const int64_t latency = backward ? *clock_ns - usual : usual - *clock_ns;
  return std::min(-latency, earliest - kStampVariation);
}

int64_t Alignment::Samples::median() const { return quantile(ns, 0.5); }

// Packets that both have as often; a packet that was sent several times counts only where no
// one-time packet does.
Alignment::BySide Alignment::join(const Survey &first, const Survey &second) {
  const uint64_t threshold = std::min(first.threshold(), second.threshold());
  const auto a = sorted_anchors(first, threshold), b = sorted_anchors(second, threshold);
  BySide once, often;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].hash != b[j].hash) {
      (a[i].hash < b[j].hash ? i : j)++;
      continue;
    }
    const size_t i_end = end_of(a, i), j_end = end_of(b, j);
    if (i_end - i == j_end - j && i_end - i <= kMostCopies)
      for (size_t n = 0; n < i_end - i; n++) {
        Samples &samples = (i_end - i == 1 ? once : often)[first.ends(a[i].ends)];
        samples.ns.push_back(static_cast<int64_t>(b[j + n].time_ns - a[i + n].time_ns));
        samples.ttl_falls += (b[j + n].ttl < a[i + n].ttl) - (b[j + n].ttl > a[i + n].ttl);
      }
    i = i_end;
    j = j_end;
  }
  for (auto &[ends, samples] : often)
    once.emplace(ends, std::move(samples));
  for (auto &[ends, samples] : once)
    std::sort(samples.ns.begin(), samples.ns.end());
  return once;
}

Alignment::Alignment(const Survey &first, const Survey &second,
                     std::optional<int64_t> clock_offset_ns) {
  samples_ = join(first, second);
  given_ = clock_offset_ns;
  const BySide &samples = samples_;
  std::vector<int64_t> all;
  for (const auto &[ends, of] : samples) {
    paths_[ends] = spread(of.ns);
    all.insert(all.end(), of.ns.begin(), of.ns.end());
  }
  anchors_ = all.size();
  std::sort(all.begin(), all.end());
  if (!all.empty())
    all_ = spread(all);
  direct(samples, clock_offset_ns);
  estimate_clock(samples, clock_offset_ns);
  set_directions_by_clock(samples);
  find_bases(samples);
}

// By the TTL, if a router between the places lowers it; else the packets of two directions differ
// by the sum of the latencies: those that travel forward have the larger difference. That sum is
// more than what a latency varies below its median; a smaller difference shows nothing.
void Alignment::direct(const BySide &samples, std::optional<int64_t> clock_offset_ns) {
  for (const auto &[ends, of] : samples) {
    Path &path = paths_[ends];
    const auto answers = samples.find(reversed(ends));
    if (2 * std::abs(of.ttl_falls) > static_cast<int64_t>(of.ns.size())) {
      path.backward = of.ttl_falls < 0;
      path.assumed = false;
    } else if (clock_offset_ns) {
      path.backward = path.usual_ns < *clock_offset_ns;
      path.assumed = path.usual_ns == *clock_offset_ns;
    } else if (answers != samples.end()) {
      const bool backward = of.median() < answers->second.median();
      const std::vector<int64_t> &there = backward ? answers->second.ns : of.ns,
                                 &back = backward ? of.ns : answers->second.ns;
      const int64_t apart = quantile(there, 0.5) - quantile(back, 0.5),
                    varies = std::max(quantile(there, 0.5) - quantile(there, 0.1),
                                      quantile(back, 0.9) - quantile(back, 0.5));
      path.assumed = apart <= varies;
      path.backward = backward && !path.assumed;
    }
  }
}

// The smallest latencies of both directions are taken as equal, as NTP does.
void Alignment::estimate_clock(const BySide &samples, std::optional<int64_t> given) {
  if (given) {
    clock_ = ComparedLeg::Clock::Given;
    offset_ns_ = *given;
    return;
  }
  std::optional<int64_t> least, most;
  bool both = false;
  for (const auto &[ends, of] : samples) {
    both |= samples.contains(reversed(ends));
    const Path &path = paths_[ends];
    if (path.assumed)
      continue;
    if (path.backward)
      most = std::max(most.value_or(INT64_MIN), quantile(of.ns, 0.99));
    else
      least = std::min(least.value_or(INT64_MAX), quantile(of.ns, 0.01));
  }
  if (least && most)
    offset_ns_ = *most + (*least - *most) / 2;
  else if (both) // and no difference between the two directions: no latency
    offset_ns_ = all_.usual_ns;
  else
    return;
  clock_ = ComparedLeg::Clock::BothWays;
}

// Paths without answers in the samples: a packet does not arrive before it was sent. A path with
// answers that is still assumed differs from the clock's offset by chance.
void Alignment::set_directions_by_clock(const BySide &samples) {
  for (const auto &[ends, of] : samples) {
    Path &path = paths_[ends];
    if (!path.assumed || clock_ == ComparedLeg::Clock::Unknown || path.usual_ns == offset_ns_ ||
        samples.contains(reversed(ends)))
      continue;
    path.backward = path.usual_ns < offset_ns_;
    path.assumed = false;
  }
}

void Alignment::tell(Directions &known) const {
  for (const auto &[ends, path] : paths_)
    if (!path.assumed)
      known.emplace(ends, path.backward);
}

void Alignment::suppose(const Directions &known) {
  for (const auto &[ends, backward] : known) {
    Path supposed = path(ends);
    if (!supposed.assumed)
      continue;
    supposed.backward = backward;
    supposed.assumed = false;
    paths_[ends] = supposed;
  }
  estimate_clock(samples_, given_);
  find_bases(samples_);
}

void Alignment::find_bases(const BySide &samples) {
  std::vector<int64_t> ways[2];
  for (const auto &[ends, of] : samples)
    std::copy(of.ns.begin(), of.ns.end(), std::back_inserter(ways[paths_[ends].backward]));
  for (const bool backward : {false, true}) {
    std::vector<int64_t> &ns = ways[backward];
    if (ns.empty())
      continue;
    std::sort(ns.begin(), ns.end());
    way_[backward] = spread(ns);
    has_way_[backward] = true;
    base_ns_[backward] = quantile(ns, backward ? 0.99 : 0.01);
  }
}

Path Alignment::path(const Ends &ends) const {
  Path path = untimed_path(ends);
  if (clock_ == ComparedLeg::Clock::Given ||
      (clock_ == ComparedLeg::Clock::BothWays && !path.assumed))
    path.clock_ns = offset_ns_;
  return path;
}

Path Alignment::untimed_path(const Ends &ends) const {
  if (const auto found = paths_.find(ends); found != paths_.end())
    return found->second;
  const auto answers = paths_.find(reversed(ends));
  const bool backward =
      answers != paths_.end() && !answers->second.backward && !answers->second.assumed;
  Path path = has_way_[backward] ? way_[backward] : all_;
  path.backward = backward;
  path.assumed = answers == paths_.end() || answers->second.assumed;
  return path;
}

} // namespace xr::compare
