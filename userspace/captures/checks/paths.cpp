// SPDX-License-Identifier: Apache-2.0
// Path MTU, the spread over equal-cost paths, RoCE versions, and what arrives damaged.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/counted.h"
#include "checks/hosts.h"
#include "checks/judgement.h"
#include "checks/uplinks.h"

namespace xr::checks {

namespace {

// 0: not known.
uint32_t pmtu_of(const roce_stream &stream) {
  const unsigned code = (stream.word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT;
  return code ? roce_pmtu_bytes(code) : 0;
}

// The largest path MTU of IBA that the payload fills.
uint32_t pmtu_filled(uint32_t payload) {
  uint32_t filled = 0;
  for (uint32_t pmtu = 256; pmtu <= 4096; pmtu *= 2)
    filled = payload >= pmtu ? pmtu : filled;
  return filled;
}

// QPs and UDP source ports of connected data in one direction.
struct Spread {
  std::set<uint32_t> qps;
  std::set<uint16_t> ports;
  bool more_ports = false;
};

Spread spread_of(const Snapshot &s, const StreamList &streams) {
  Spread spread;
  for (const roce_stream *stream : streams) {
    const StreamTraffic &traffic = traffic_of(s, *stream);
    if (is_v1(*stream) || !is_controlled(*stream) || !traffic.of(TrafficPart::Data).packets())
      continue;
    spread.qps.insert(roce_key_qp(&stream->key));
    spread.ports.insert(traffic.ports.begin(), traffic.ports.begin() + traffic.ports_used);
    spread.more_ports |= traffic.ports_more != 0;
  }
  return spread;
}

// How the flows spread over the uplinks that the user names.
void add_uplinks(const Facts &facts, Judgement &judgement) {
  constexpr double kUnlikely = 0.01;
  if (!facts.paths)
    return;
  const UplinkSpread spread = spread_over(facts.snapshot, facts.paths, facts.hash);
  if (!spread.flows)
    return;
  judgement.add(spread.chance < kUnlikely ? Status::Warn : Status::Ok,
                fmt::format("{} over {} by {}: the busiest has {} of them and {:.1f} % "
                            "of the bytes; by chance it has {:.1f} % of the flows",
                            counted(spread.flows, "flow"), counted(facts.paths, "path"),
                            path_hashes()[facts.hash].name, spread.busiest_flows,
                            spread.busiest_bytes * 100, spread.expected * 100));
}

} // namespace

Judgement path_mtu(const Facts &facts) {
  const Snapshot &s = facts.snapshot;
  uint32_t least = 0, most = 0;
  for (const roce_stream &stream : s.streams)
    if (const uint32_t pmtu = pmtu_of(stream)) {
      least = least ? std::min(least, pmtu) : pmtu;
      most = std::max(most, pmtu);
    }
  const uint64_t fragments = s.totals.frames[ROCE_CLASS_FRAGMENT];
  if (!most && !fragments)
    return {Status::Unknown, "no message of several packets, from which the path MTU follows"};
  Judgement judgement(Status::Ok, least == most ? fmt::format("{} bytes", most)
                                                : fmt::format("{} to {} bytes", least, most));
  if (fragments)
    judgement.add(Status::Fail, counted(fragments, "IP fragment") + " of UDP",
                  s.strays.fragment_frame);
  for (const auto &[hosts, streams] : by_hosts(s, true)) {
    uint32_t fits = 0, used = 0;
    for (const roce_stream *stream : streams) {
      const uint32_t pmtu = pmtu_of(*stream);
      fits = std::max({fits, pmtu, pmtu_filled(traffic_of(s, *stream).largest_payload)});
      used = pmtu ? std::min(used ? used : pmtu, pmtu) : used;
    }
    if (used && used < fits)
      judgement.add(Status::Warn, fmt::format("{}: streams with path MTU {}, where payloads of {} "
                                              "pass",
                                              text_of(hosts), used, fits));
  }
  if (facts.episodes)
    for (const FindingRow &row : facts.episodes->findings)
      if (row.finding.type == ROCE_FINDING_PMTU)
        judgement.add(Status::Warn,
                      fmt::format("{} QP 0x{:06x}: {} bytes at PSN {} after packets of {}",
                                  text_of(hosts_of(row.name.key)), roce_key_qp(&row.name.key),
                                  row.finding.value, row.finding.psn, row.finding.expected),
                      row.finding.frame);
  return judgement;
}

Judgement entropy(const Facts &facts) {
  const Snapshot &s = facts.snapshot;
  if (s.traffic.empty())
    return {Status::Unknown, without_traffic(s, "UDP source ports were")};
  Judgement judgement(Status::Ok, "");
  std::string seen;
  size_t most = 0;
  for (const auto &[hosts, streams] : by_hosts(s)) {
    const Spread spread = spread_of(s, streams);
    if (spread.qps.size() < 2)
      continue;
    if (spread.ports.size() == 1)
      judgement.add(Status::Warn, fmt::format("{}: {} QPs on UDP source port {}", text_of(hosts),
                                              spread.qps.size(), *spread.ports.begin()));
    if (spread.qps.size() > most) {
      most = spread.qps.size();
      seen = fmt::format("{}: {} on {}{}", text_of(hosts), counted(most, "QP"),
                         spread.more_ports ? "more than " : "",
                         counted(spread.ports.size(), "UDP source port"));
    }
  }
  if (judgement.status() == Status::Ok)
    judgement = most ? Judgement(Status::Ok, "")
                     : Judgement(Status::Unknown, "no two QPs send data between the same hosts");
  if (most && judgement.status() == Status::Ok)
    judgement.add(Status::Ok, seen);
  add_uplinks(facts, judgement);
  return judgement;
}

Judgement versions(const Facts &facts) {
  const Snapshot &s = facts.snapshot;
  if (s.streams.empty())
    return {Status::Unknown, "no RoCE streams"};
  Judgement judgement(Status::Ok, "");
  bool v1 = false, v2 = false;
  for (const auto &[hosts, streams] : by_hosts(s, true)) {
    const auto of_v1 = std::ranges::count_if(streams, [](auto *stream) { return is_v1(*stream); });
    const auto of_v2 = static_cast<ptrdiff_t>(streams.size()) - of_v1;
    v1 |= of_v1 != 0;
    v2 |= of_v2 != 0;
    if (of_v1 && of_v2)
      judgement.add(Status::Warn,
                    fmt::format("{}: {} of RoCEv1 and {} of RoCEv2", text_of(hosts),
                                counted(static_cast<uint64_t>(of_v1), "stream"), of_v2));
  }
  if (judgement.status() == Status::Ok)
    return {Status::Ok, v1 && v2 ? "both, between different hosts" : v1 ? "RoCEv1" : "RoCEv2"};
  return judgement;
}

Judgement icrc(const Facts &facts) {
  const Snapshot &s = facts.snapshot;
  const uint64_t malformed = s.totals.frames[ROCE_CLASS_MALFORMED];
  if (!s.icrc.checked && !malformed)
    return {Status::Unknown, s.source == Snapshot::Source::Interface ? "a port does not check iCRCs"
                                                                     : "no whole RoCE packet"};
  Judgement judgement(Status::Ok, s.icrc.checked == 1
                                      ? "1 checked, it is right"
                                      : fmt::format("{} checked, none is wrong", s.icrc.checked));
  if (malformed)
    judgement.add(Status::Warn, counted(malformed, "frame") + " of RoCE without a sound BTH",
                  s.strays.malformed_frame);
  if (!s.icrc.bad)
    return judgement;
  judgement.add(Status::Fail, fmt::format("{} of {} {} wrong", s.icrc.bad, s.icrc.checked,
                                          verb(s.icrc.bad, "is", "are")));
  for (const auto &[hosts, streams] : by_hosts(s)) {
    uint64_t bad = 0, frame = 0;
    for (const roce_stream *stream : streams) {
      const StreamTraffic &traffic = traffic_of(s, *stream);
      bad += traffic.bad_icrcs;
      if (traffic.bad_icrcs && (!frame || traffic.bad_icrc_frame < frame))
        frame = traffic.bad_icrc_frame;
    }
    if (bad)
      judgement.add(Status::Fail, fmt::format("{}: {}", text_of(hosts), bad), frame);
  }
  return judgement;
}

} // namespace xr::checks
