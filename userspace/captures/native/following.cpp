// SPDX-License-Identifier: Apache-2.0
#include "native/following.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
  orders.push_back(order);
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
    damaged_findings.push_back({found, order});
  damaged_packets++;
  damaged.add(stream, packet.psn, ns);
}

void Following::add(roce_episode episode) {
  episode.corrupted = damaged.explain(episode);
  if (episodes.size() == kEpisodes)
    episodes_dropped++;
  else
    episodes.push_back({episode, order});
}

void Following::add(const roce_finding &finding) {
  if (findings.size() == kEpisodes)
    findings_dropped++;
  else
    findings.push_back({finding, order});
}

namespace {

// What all parts have found, in the order of the frames that gave it: f(part, item).
template <typename Item, typename F>
void each_in_order(const std::vector<FollowedPart> &parts,
                   std::vector<Following::Found<Item>> Following::*list, const F &f) {
  struct Place {
    uint64_t order;
    uint32_t part, index;
  };
  std::vector<Place> all;
  for (uint32_t part = 0; part < parts.size(); part++) {
    const auto &items = parts[part].following->*list;
    for (uint32_t i = 0; i < items.size(); i++)
      all.push_back({items[i].order, part, i});
  }
  std::ranges::stable_sort(all, {}, &Place::order);
  for (const Place &place : all)
    f(place.part, (parts[place.part].following->*list)[place.index].item);
}

// The number of a record among those of all parts.
uint32_t of_all(uint32_t part, uint32_t record) {
  constexpr unsigned kRecordBits = 26; // there is no memory for more records
  return record == kNoStream ? record : part << kRecordBits | record;
}

// Streams whose wrong iCRCs say nothing of their packets: by part and record.
using Ignored = std::set<std::pair<uint32_t, uint32_t>>;

// Where most packets have a wrong iCRC, and their receivers accept them, the capture was changed
// after it was taken, or the sender has another way to compute it.
Ignored ignored_streams(const std::vector<FollowedPart> &parts) {
  constexpr uint64_t kFew = 8;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> counts;
  uint64_t packets = 0, damaged = 0;
  for (uint32_t part = 0; part < parts.size(); part++) {
    for (const auto &found : parts[part].following->damaged_findings)
      counts[{part, found.item.request}]++;
    damaged += parts[part].following->damaged_findings.size();
    for (const roce_stream &stream : *parts[part].streams)
      packets += roce_stream_packets(&stream);
  }
  const bool all = 2 * damaged > packets && damaged > kFew;
  Ignored ignored;
  for (const auto &[stream, count] : counts) {
    const roce_stream &of = (*parts[stream.first].streams)[stream.second];
    if (all || (count > kFew && 2 * count > roce_stream_packets(&of)))
      ignored.insert(stream);
  }
  return ignored;
}

void add_findings(Episodes &into, const std::vector<FollowedPart> &parts, const Ignored &ignored) {
  const auto add = [&](uint32_t part, const roce_finding &f) {
    into.findings.push_back({pair_name(*parts[part].streams, f.request, f.response), f});
  };
  each_in_order(parts, &Following::damaged_findings, [&](uint32_t part, const roce_finding &f) {
    if (ignored.contains({part, f.request}))
      into.icrc_ignored++;
    else
      add(part, f);
  });
  each_in_order(parts, &Following::findings, add);
}

void add_pairs(Episodes &into, const std::vector<FollowedPart> &parts) {
  struct Pair {
    uint64_t order;
    uint32_t part, record;
  };
  std::vector<Pair> pairs;
  for (uint32_t part = 0; part < parts.size(); part++)
    for (uint32_t i = 0; i < parts[part].following->records.size(); i++)
      pairs.push_back({parts[part].following->orders[i], part, i});
  std::ranges::stable_sort(pairs, {}, &Pair::order);
  for (const Pair &pair : pairs) {
    const roce_follow &f = parts[pair.part].following->records[pair.record];
    add_pair(into, f, pair_name(*parts[pair.part].streams, f.request, f.response));
  }
}

} // namespace

void fill_followed(Episodes &into, const std::vector<FollowedPart> &parts) {
  into = {};
  for (const FollowedPart &part : parts) {
    into.pairs_full += part.following->pairs_full;
    into.episodes_dropped += part.following->episodes_dropped;
    into.findings_dropped += part.following->findings_dropped;
    into.unpaired += part.following->unpaired;
  }
  const Ignored ignored = ignored_streams(parts);
  each_in_order(parts, &Following::episodes, [&](uint32_t part, const roce_episode &e) {
    const bool answers = e.kind == ROCE_KIND_RESPONSE;
    const uint32_t misses = answers ? e.response : e.request;
    into.episodes.push_back(
        {pair_name(*parts[part].streams, misses, answers ? e.request : e.response), e});
    roce_episode &added = into.episodes.back().episode;
    added.request = of_all(part, e.request);
    added.response = of_all(part, e.response);
    if (ignored.contains({part, misses}))
      added.corrupted = 0;
  });
  parts[0].following->cnps.fill(into);
  add_findings(into, parts, ignored);
  add_pairs(into, parts);
  finish_found(into);
}

} // namespace xr
