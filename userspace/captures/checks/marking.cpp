// SPDX-License-Identifier: Apache-2.0
// Whether switches can mark, and marks are answered.
#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "checks/hosts.h"
#include "checks/judgement.h"
#include "model/data_packet.h"

namespace xr::checks {

namespace {

struct Marked {
  uint64_t ce = 0, cnps = 0, ce_frame = 0;
  bool answers = false; // to requests of the other direction
};

// CE marks by direction, and the CNPs that go that way.
std::map<Hosts, Marked> marked_by_hosts(const Snapshot &snapshot) {
  std::map<Hosts, Marked> all;
  for (const roce_stream &stream : snapshot.streams) {
    Marked &marked = all[hosts_of(stream.key)];
    if (is_controlled(stream))
      marked.ce += roce_stream_counter(&stream, ROCE_STREAM_CE);
    marked.cnps += roce_stream_counter(&stream, ROCE_STREAM_CNPS);
    marked.answers = marked.answers || roce_key_kind(&stream.key) == ROCE_KIND_RESPONSE;
    if (!marked.ce_frame)
      marked.ce_frame = traffic_of(snapshot, stream).ce_frame;
  }
  return all;
}

void add_findings(const Episodes &episodes, roce_finding_type type, Status status,
                  const std::string &text, Judgement &judgement) {
  uint64_t found = 0;
  for (const FindingRow &row : episodes.findings)
    if (row.finding.type == type && ++found)
      judgement.frame(row.finding.frame);
  if (found)
    judgement.add(status, fmt::format("{} {}", found, text));
}

// On a port ECN is counted by opcode, not by stream.
Judgement data_ect_by_opcode(const Snapshot &s) {
  uint64_t data = 0, not_ect = 0;
  for (unsigned opcode = 0; opcode < ROCE_OPCODE_COUNT_V1; opcode++) {
    if (!is_data(roce_opcode_properties[opcode]))
      continue;
    const roce_opcode_count &count = s.opcodes[opcode];
    not_ect += count.packets[0];
    data += count.packets[0] + count.packets[1] + count.packets[2] + count.packets[3];
  }
  if (!data)
    return {Status::Unknown, "no RoCEv2 data of RC, UC or XRC"};
  if (not_ect == data)
    return {Status::Unknown, fmt::format("no ECN in use: none of {} data packets is ECT", data)};
  if (not_ect)
    return {Status::Warn, fmt::format("{} of {} data packets are not ECT", not_ect, data)};
  return {Status::Ok, fmt::format("all {} data packets are ECT", data)};
}

} // namespace

Judgement data_ect(const Facts &facts) {
  const Snapshot &s = facts.snapshot;
  if (s.traffic.empty())
    return data_ect_by_opcode(s);
  uint64_t data = 0, ect = 0;
  for (const roce_stream &stream : s.streams) {
    if (is_v1(stream) || !is_controlled(stream))
      continue;
    const PartTraffic &part = traffic_of(s, stream).of(TrafficPart::Data);
    data += part.packets();
    ect += part.ect();
  }
  if (!data)
    return {Status::Unknown, "no RoCEv2 data of RC, UC or XRC"};
  if (!ect)
    return {Status::Unknown, fmt::format("no ECN in use: none of {} data packets is ECT", data)};
  Judgement judgement(Status::Ok, fmt::format("all {} data packets are ECT", data));
  for (const roce_stream &stream : s.streams) {
    const StreamTraffic &traffic = traffic_of(s, stream);
    const PartTraffic &part = traffic.of(TrafficPart::Data);
    if (is_v1(stream) || !is_controlled(stream) || !part.ecn[0])
      continue;
    const bool mixes = part.ect();
    judgement.add(mixes ? Status::Fail : Status::Warn,
                  fmt::format("{} QP 0x{:06x}: {} of {} data packets are not ECT{}",
                              text_of(hosts_of(stream.key)), roce_key_qp(&stream.key), part.ecn[0],
                              part.packets(), mixes ? ", although others of the stream are" : ""),
                  traffic.not_ect_frame);
  }
  return judgement;
}

Judgement marks_answered(const Facts &facts) {
  const Snapshot &s = facts.snapshot;
  if (!s.tracked)
    return {Status::Unknown, "streams were not tracked"};
  const auto all = marked_by_hosts(s);
  uint64_t ce = 0, cnps = 0;
  for (const auto &[hosts, marked] : all) {
    ce += marked.ce;
    cnps += marked.cnps;
  }
  if (!ce && !cnps)
    return {Status::Unknown, "no packet was marked CE, and there are no CNPs"};
  if (!ce && !s.totals.cnps_after_nak)
    return {Status::Unknown,
            counted(cnps, "CNP") + " and no CE mark: marks are made after the capture's place"};
  Judgement judgement(Status::Ok, counted(ce, "CE mark") + ", " + counted(cnps, "CNP"));
  for (const auto &[hosts, marked] : all) {
    if (!marked.ce)
      continue;
    const auto answers = all.find(back(hosts));
    if (answers == all.end() || !answers->second.answers)
      judgement.add(Status::Unknown,
                    fmt::format("{}: {}; {}", text_of(hosts), counted(marked.ce, "CE mark"),
                                answers == all.end()
                                    ? "the other direction was not captured"
                                    : "no answers to these requests were captured"),
                    marked.ce_frame);
    else if (!answers->second.cnps)
      judgement.add(
          Status::Fail,
          fmt::format("{}: {} and no CNP back", text_of(hosts), counted(marked.ce, "CE mark")),
          marked.ce_frame);
  }
  if (s.totals.cnps_after_nak)
    judgement.add(Status::Warn,
                  fmt::format("{} {} a NAK and no CE mark", counted(s.totals.cnps_after_nak, "CNP"),
                              verb(s.totals.cnps_after_nak, "follows", "follow")));
  if (facts.episodes && ce) {
    add_findings(*facts.episodes, ROCE_FINDING_CE_WITHOUT_CNP, Status::Fail,
                 "QP pairs with CE marks whose receiver sent no CNP to anyone", judgement);
    add_findings(*facts.episodes, ROCE_FINDING_CNP_WITHOUT_CE, Status::Warn,
                 "CNPs to QPs of which no packet was marked here, nor refused", judgement);
  }
  return judgement;
}

} // namespace xr::checks
