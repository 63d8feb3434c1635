// SPDX-License-Identifier: Apache-2.0
#include "native/following.h"

#include <algorithm>

#include "native/pair_links.h"
#include "roce/psn.h"
#include "roce/stream.h"

namespace xr {

namespace {

constexpr uint32_t kNoStream = 0xffffffff; // ROCE_NO_STREAM

} // namespace

void CnpTimes::Last::add(uint64_t now) {
  if (count++ && now >= ns) {
    const uint64_t gap = now - ns;
    if (gap < least - least / 5)
      near = 0;
    least = std::min(least, gap);
    near += gap <= least + least / 4;
  }
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
    row.port_steady = source.is_steady();
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

roce_follow *Following::record(uint32_t stream) {
  if (stream >= places.size())
    return nullptr;
  if (places[stream])
    return &records[places[stream] - 1];
  if (records.size() == kPairs) {
    pairs_full++;
    return nullptr;
  }
  places[stream] = static_cast<uint32_t>(records.size()) + 1;
  return &records.emplace_back();
}

void DamagedPackets::add(uint32_t stream, uint32_t psn, uint64_t ns) {
  if (times_.size() == kPackets)
    times_.erase(times_.begin());
  times_[{stream, psn}] = ns;
}

// After a NAK or an implied one the missing PSN is known. A timeout goes back to the oldest PSN
// without an ACK, which may be before it.
bool DamagedPackets::explain(const roce_episode &e) {
  constexpr uint32_t kOutstanding = 4096;
  const bool answers = e.kind == ROCE_KIND_RESPONSE;
  const uint32_t stream = answers ? e.response : e.request;
  const uint64_t end = std::max({e.nak_ns, e.reread_ns, e.resent_ns});
  const uint32_t psns = e.cause == ROCE_CAUSE_TIMEOUT ? kOutstanding : 1;
  if (e.cause != ROCE_CAUSE_NAK && e.cause != ROCE_CAUSE_READ && e.cause != ROCE_CAUSE_TIMEOUT)
    return false;
  bool explained = false;
  for (uint32_t n = 0; n < psns && !times_.empty(); n++) {
    const auto found = times_.find({stream, roce_psn_add(e.first_missing, n)});
    if (found == times_.end() || found->second > end)
      continue;
    explained = true;
    times_.erase(found);
  }
  return explained;
}

void Following::add_damaged(const roce_packet &packet, uint32_t stream, uint64_t ns,
                            uint64_t frame) {
  roce_finding found{};
  found.type = ROCE_FINDING_ICRC;
  found.time_ns = ns;
  found.frame = frame;
  found.request = stream;
  found.response = kNoStream;
  found.psn = packet.psn;
  if (damaged_findings.size() == kEpisodes)
    findings_dropped++;
  else
    damaged_findings.push_back(found);
  damaged.add(stream, packet.psn, ns);
}

void Following::add(roce_episode episode) {
  episode.corrupted = damaged.explain(episode);
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

// Where most packets have a wrong iCRC, and their receivers accept them, the capture was changed
// after it was taken, or the sender has another way to compute it.
std::set<uint32_t> Following::fill_damaged(Episodes &into,
                                           const std::vector<roce_stream> &streams) const {
  constexpr uint64_t kFew = 8;
  std::map<uint32_t, uint64_t> counts;
  for (const roce_finding &f : damaged_findings)
    counts[f.request]++;
  uint64_t packets = 0;
  for (const roce_stream &stream : streams)
    packets += roce_stream_packets(&stream);
  const bool all = 2 * damaged_findings.size() > packets && damaged_findings.size() > kFew;
  std::set<uint32_t> ignored;
  for (const auto &[stream, count] : counts)
    if (all || (count > kFew && 2 * count > roce_stream_packets(&streams[stream])))
      ignored.insert(stream);
  for (const roce_finding &f : damaged_findings)
    if (ignored.contains(f.request))
      into.icrc_ignored++;
    else
      into.findings.push_back({pair_name(streams, f.request, f.response), f});
  return ignored;
}

void Following::fill(Episodes &into, const std::vector<roce_stream> &streams) const {
  into = {};
  const std::set<uint32_t> ignored = fill_damaged(into, streams);
  into.pairs_full = pairs_full;
  into.episodes_dropped = episodes_dropped;
  into.findings_dropped = findings_dropped;
  into.unpaired = unpaired;
  for (const roce_episode &e : episodes) {
    const bool answers = e.kind == ROCE_KIND_RESPONSE;
    into.episodes.push_back(
        {pair_name(streams, answers ? e.response : e.request, answers ? e.request : e.response),
         e});
    if (ignored.contains(answers ? e.response : e.request))
      into.episodes.back().episode.corrupted = 0;
  }
  cnps.fill(into);
  for (const roce_finding &f : findings)
    into.findings.push_back({pair_name(streams, f.request, f.response), f});
  for (const roce_follow &f : records)
    add_pair(into, f, pair_name(streams, f.request, f.response));
  finish_found(into);
}

} // namespace xr
