// SPDX-License-Identifier: Apache-2.0
// Which DSCPs and PCPs data and CNPs use.
#include <bit>

#include <fmt/format.h>

#include "base/counted.h"
#include "checks/hosts.h"
#include "checks/judgement.h"

namespace xr::checks {

namespace {

constexpr uint16_t kTagged = (1u << PartTraffic::kUntagged) - 1;

std::string classes_text(const Classes &classes) {
  std::string text = classes.dscps ? "DSCP " + bits_text(classes.dscps) : "";
  if (classes.pcps & kTagged)
    text += (text.empty() ? "PCP " : ", PCP ") + bits_text(classes.pcps & kTagged);
  if (classes.pcps & kTagged && classes.pcps & ~kTagged)
    text += " and untagged";
  return text.empty() ? "no tag" : text;
}

bool several(uint64_t bits) { return std::popcount(bits) > 1; }

} // namespace

Judgement cnp_class(const Facts &facts) {
  const Snapshot &s = facts.snapshot;
  if (s.traffic.empty())
    return {Status::Unknown, without_traffic(s, "classes were")};
  Classes all;
  Judgement found(Status::Ok, "");
  for (const auto &[hosts, streams] : by_hosts(s, true)) {
    const Classes cnps = classes_of(s, streams, TrafficPart::Cnp);
    const Classes data = classes_of(s, streams, TrafficPart::Data);
    all.packets += cnps.packets;
    all.dscps |= cnps.dscps;
    all.pcps |= cnps.pcps;
    const uint64_t shared = cnps.dscps & data.dscps;
    const uint16_t shared_pcps = cnps.pcps & data.pcps & kTagged;
    if (shared)
      found.add(Status::Warn,
                fmt::format("{}: CNPs on DSCP {}, which their data uses", text_of(hosts),
                            bits_text(shared)),
                cnps.first_frame);
    else if (shared_pcps)
      found.add(Status::Warn,
                fmt::format("{}: CNPs with PCP {}, which their data uses", text_of(hosts),
                            bits_text(shared_pcps)),
                cnps.first_frame);
    else if (cnps.dscps & 1)
      found.add(Status::Warn, fmt::format("{}: CNPs on DSCP 0", text_of(hosts)), cnps.first_frame);
    else if (!cnps.dscps && cnps.pcps & 1)
      found.add(Status::Warn, fmt::format("{}: CNPs with PCP 0", text_of(hosts)), cnps.first_frame);
  }
  if (!all.packets)
    return {Status::Unknown, "no CNPs"};
  if (found.status() == Status::Ok)
    return {Status::Ok, fmt::format("{}: {}", counted(all.packets, "CNP"), classes_text(all))};
  return found;
}

Judgement one_class(const Facts &facts) {
  const Snapshot &s = facts.snapshot;
  if (s.traffic.empty())
    return {Status::Unknown, without_traffic(s, "classes were")};
  Classes all;
  Judgement found(Status::Ok, "");
  for (const auto &[hosts, streams] : by_hosts(s)) {
    const Classes data = classes_of(s, streams, TrafficPart::Data);
    all.packets += data.packets;
    all.dscps |= data.dscps;
    all.pcps |= data.pcps;
    if (!several(data.dscps) && !several(data.pcps))
      continue;
    Judgement changes(Status::Ok, "");
    for (const roce_stream *stream : streams)
      if (const uint64_t frame = traffic_of(s, *stream).of(TrafficPart::Data).other_frame)
        changes.add(Status::Fail, "", frame);
    const bool within = changes.status() == Status::Fail;
    found.add(within ? Status::Fail : Status::Warn,
              fmt::format("{}: data with {}{}", text_of(hosts), classes_text(data),
                          within ? ", which changes within a stream" : ""),
              within ? changes.frames().front() : data.first_frame);
  }
  if (!all.packets)
    return {Status::Unknown, "no data packets"};
  if (found.status() == Status::Ok)
    return {Status::Ok, fmt::format("data with {}", classes_text(all))};
  return found;
}

} // namespace xr::checks
