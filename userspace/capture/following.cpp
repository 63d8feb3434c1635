// SPDX-License-Identifier: Apache-2.0
#include "capture/following.h"

#include <algorithm>

#include "capture/pair_links.h"

namespace xr {

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
  cnps.fill(into);
  for (const roce_finding &f : findings)
    into.findings.push_back({pair_name(streams, f.request, f.response), f});
  for (const roce_follow &f : records)
    add_pair(into, f, pair_name(streams, f.request, f.response));
  sort_found(into);
}

} // namespace xr
