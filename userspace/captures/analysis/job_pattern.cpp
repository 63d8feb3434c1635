// SPDX-License-Identifier: Apache-2.0
#include "analysis/job_pattern.h"

#include <algorithm>
#include <map>
#include <set>

namespace xr {

namespace {

using Peers = std::map<uint32_t, std::set<uint32_t>>;

// Whether a walk along the edges, never straight back, meets all before it is at its start again.
bool circle(const Peers &to, size_t ranks) {
  const uint32_t start = to.begin()->first;
  uint32_t before = start, at = *to.begin()->second.begin();
  size_t met = 1;
  while (at != start && met <= ranks) {
    const auto peers = to.find(at);
    if (peers == to.end())
      return false;
    const auto next =
        std::ranges::find_if(peers->second, [before](uint32_t peer) { return peer != before; });
    if (next == peers->second.end())
      return false;
    before = at;
    at = *next;
    met++;
  }
  return met == ranks;
}

bool connected(const Peers &to, size_t ranks) {
  std::set<uint32_t> met{to.begin()->first};
  std::vector<uint32_t> open(met.begin(), met.end());
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (const auto peers = to.find(at); peers != to.end())
      for (const uint32_t peer : peers->second)
        if (met.insert(peer).second)
          open.push_back(peer);
  }
  return met.size() == ranks;
}

// A hypercube: 2^d ranks, connected, each with d peers, of whom two that share a peer share
// exactly one other.
bool hypercube(const Peers &to, size_t ranks, size_t degree) {
  if (degree >= 32 || ranks != size_t{1} << degree || !connected(to, ranks))
    return false;
  for (const auto &of : to) {
    std::map<uint32_t, unsigned> ways;
    for (const uint32_t peer : of.second)
      for (const uint32_t second : to.at(peer))
        ways[second] += second != of.first;
    ways.erase(of.first);
    for (const auto &way : ways)
      if (way.second != 2)
        return false;
  }
  return true;
}

JobPattern pattern_of(const Peers &to, const Peers &from, bool both_ways) {
  std::set<uint32_t> members;
  size_t edges = 0, least = SIZE_MAX, most = 0;
  for (const auto &of : to) {
    members.insert(of.first);
    members.insert(of.second.begin(), of.second.end());
    edges += of.second.size();
    least = std::min(least, of.second.size());
    most = std::max(most, of.second.size());
  }
  const size_t ranks = members.size();
  if (ranks < 2)
    return JobPattern::Other;
  if (from.size() == 1 && ranks > 2)
    return JobPattern::Incast;
  if (ranks > 2 && to.size() == ranks && from.size() == ranks && most == 1 && circle(to, ranks))
    return JobPattern::Ring;
  if (ranks > 2 && edges == ranks * (ranks - 1))
    return JobPattern::AllToAll;
  if (!both_ways)
    return JobPattern::Other;
  if (ranks > 4 && to.size() == ranks && least == 2 && most == 2 && circle(to, ranks))
    return JobPattern::BidirectionalRing;
  if (least == most && hypercube(to, ranks, most))
    return JobPattern::Pairs;
  if (ranks > 2 && edges == 2 * (ranks - 1) && connected(to, ranks))
    return JobPattern::Tree;
  return JobPattern::Other;
}

} // namespace

void find_pattern(JobTraffic &job) {
  uint64_t largest = 0;
  for (const JobEdge &edge : job.edges)
    largest = std::max(largest, edge.bytes);
  Peers to, from;
  for (JobEdge &edge : job.edges) {
    edge.bulk = edge.bytes && edge.bytes >= largest / 100;
    if (!edge.bulk)
      continue;
    to[edge.from].insert(edge.to);
    from[edge.to].insert(edge.from);
  }
  for (const auto &of : to)
    job.exchanging += from.contains(of.first);
  if (!to.empty())
    job.pattern = pattern_of(to, from, to == from);
}

} // namespace xr
