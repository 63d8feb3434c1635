// SPDX-License-Identifier: Apache-2.0
#include "capture/following.h"

#include <algorithm>

namespace xr {

namespace {

constexpr uint32_t kNoStream = 0xffffffff; // ROCE_NO_STREAM

// The first time that is known of an episode.
uint64_t start_of(const roce_episode &e) {
  uint64_t first = UINT64_MAX;
  for (const uint64_t ns : {e.seen_ns, e.nak_ns, e.reread_ns, e.resent_ns})
    if (ns)
      first = std::min(first, ns);
  return first;
}

// Stream `id`; the DestQP of `other`, the other direction, is the QPN of its sender.
PairName name_of(const std::vector<roce_stream> &streams, uint32_t id, uint32_t other) {
  PairName name;
  if (id >= streams.size())
    return name;
  name.key = streams[id].key;
  if (other < streams.size())
    name.src_qp = roce_key_qp(&streams[other].key);
  else if (streams[id].flags & ROCE_STREAM_SRC_QP)
    name.src_qp = streams[id].src_qp;
  return name;
}

} // namespace

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
        {name_of(streams, answers ? e.response : e.request, answers ? e.request : e.response), e});
  }
  std::stable_sort(into.episodes.begin(), into.episodes.end(),
                   [](const EpisodeRow &a, const EpisodeRow &b) {
                     return start_of(a.episode) < start_of(b.episode);
                   });
  for (const roce_finding &f : findings)
    into.findings.push_back({name_of(streams, f.request, f.response), f});
  for (const roce_follow &f : records) {
    PairRow &row = into.pairs.emplace_back();
    row.name = name_of(streams, f.request, f.response);
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
    std::copy(std::begin(f.causes), std::end(f.causes), std::begin(row.causes));
    into.holes_forgotten += f.round.forgotten;
  }
}

} // namespace xr
