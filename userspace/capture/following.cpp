// SPDX-License-Identifier: Apache-2.0
#include "capture/following.h"

#include <algorithm>

#include "capture/pair_links.h"

namespace xr {

namespace {

constexpr uint32_t kNoStream = 0xffffffff; // ROCE_NO_STREAM

// Requests were marked CE, their receiver answered, and sent no CNP to anyone. (One CNP may be
// meant for several QPs.)
void find_unanswered_ce(Episodes &into, const roce_follow &f, const PairName &name) {
  if (!f.ce || !f.acks || f.cnps)
    return;
  std::array<uint32_t, 4> receiver{};
  std::copy_n(name.key.dst, 4, receiver.begin());
  const auto at =
      std::lower_bound(into.cnps.begin(), into.cnps.end(), receiver,
                       [](const CnpRow &row, const auto &src) { return row.src < src; });
  if (at != into.cnps.end() && at->src == receiver)
    return;
  roce_finding found{};
  found.type = ROCE_FINDING_CE_WITHOUT_CNP;
  found.frame = f.ce_frame;
  found.psn = f.ce_psn;
  found.value = f.ce;
  into.findings.push_back({name, found});
}

} // namespace

void CnpTimes::Last::add(uint64_t now) {
  if (count++ && now >= ns)
    least = std::min(least, now - ns);
  ns = now;
}

void CnpTimes::add(const roce_key &key, uint64_t ns) {
  Name name{};
  std::copy_n(key.src, 4, name.begin());
  std::copy_n(key.dst, 4, name.begin() + 4);
  name[8] = roce_key_qp(&key);
  if (qps_.size() == kQps && !qps_.contains(name)) {
    forgotten_++;
    return;
  }
  qps_[name].add(ns);
  name[8] = 0;
  destinations_[name].add(ns);
  std::fill_n(name.begin() + 4, 4, 0);
  sources_[name].add(ns);
}

void CnpTimes::fill(Episodes &into) const {
  into.cnps_forgotten = forgotten_;
  for (const auto &[name, source] : sources_) {
    CnpRow &row = into.cnps.emplace_back();
    std::copy_n(name.begin(), 4, row.src.begin());
    row.cnps = source.count;
    row.port_ns = source.count > 1 ? source.least : 0;
    const auto least = [&row](const std::map<Name, Last> &of, uint32_t &repeated) {
      uint64_t ns = UINT64_MAX;
      Name first{};
      std::copy(row.src.begin(), row.src.end(), first.begin());
      for (auto it = of.lower_bound(first);
           it != of.end() && std::equal(row.src.begin(), row.src.end(), it->first.begin()); ++it)
        if (it->second.count > 1) {
          repeated++;
          ns = std::min(ns, it->second.least);
        }
      return repeated ? ns : 0;
    };
    row.qp_ns = least(qps_, row.qps);
    row.destination_ns = least(destinations_, row.destinations);
  }
}

uint64_t episode_start(const roce_episode &e) {
  uint64_t first = UINT64_MAX;
  for (const uint64_t ns : {e.seen_ns, e.nak_ns, e.reread_ns, e.resent_ns})
    if (ns)
      first = std::min(first, ns);
  return first;
}

roce_follow *Following::record(uint32_t stream) {
  if (stream >= places.size())
    return nullptr;
  if (places[stream])
    return &records[places[stream] - 1];
  if (records.size() == kPairs) {
    pairs_full++;
    return nullptr;
  }
  roce_follow &added = records.emplace_back();
  added.request = stream;
  added.response = kNoStream;
  places[stream] = static_cast<uint32_t>(records.size());
  return &added;
}

void Following::add(const roce_episode &episode) {
  if (episodes.size() == kEpisodes)
    episodes_dropped++;
  else
    episodes.push_back(episode);
}

void Following::add(const roce_finding &finding) {
  if (findings.size() == kEpisodes)
    findings_dropped++;
  else
    findings.push_back(finding);
}

void Following::fill(Episodes &into, const std::vector<roce_stream> &streams) const {
  into = {};
  into.pairs_full = pairs_full;
  into.episodes_dropped = episodes_dropped;
  into.findings_dropped = findings_dropped;
  into.unpaired = unpaired;
  for (const roce_episode &e : episodes) {
    const bool answers = e.kind == ROCE_KIND_RESPONSE;
    into.episodes.push_back(
        {pair_name(streams, answers ? e.response : e.request, answers ? e.request : e.response),
         e});
  }
  std::stable_sort(into.episodes.begin(), into.episodes.end(),
                   [](const EpisodeRow &a, const EpisodeRow &b) {
                     return episode_start(a.episode) < episode_start(b.episode);
                   });
  cnps.fill(into);
  for (const roce_finding &f : findings)
    into.findings.push_back({pair_name(streams, f.request, f.response), f});
  for (const roce_follow &f : records) {
    PairRow &row = into.pairs.emplace_back();
    row.name = pair_name(streams, f.request, f.response);
    row.answers = f.response != kNoStream;
    row.requests = f.requests;
    row.acks = f.acks;
    row.acked_psns = f.acked_psns;
    row.naks = f.naks;
    row.go_backs = f.go_backs;
    row.selective = f.selective;
    row.timers_grown = f.timers_grown;
    row.timers_fixed = f.timers_fixed;
    row.msn_unchecked = f.msn_unchecked;
    row.ce = f.ce;
    row.answers_ce = f.answers_ce;
    row.cnps = f.cnps;
    find_unanswered_ce(into, f, row.name);
    std::copy(std::begin(f.causes), std::end(f.causes), std::begin(row.causes));
    into.holes_forgotten += f.round.forgotten;
  }
  std::ranges::stable_sort(into.findings, {},
                           [](const FindingRow &row) { return row.finding.frame; });
}

} // namespace xr
