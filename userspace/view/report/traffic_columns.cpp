// SPDX-License-Identifier: Apache-2.0
// To add a column: its row here, docs/report.schema.json (stream).
#include "report/traffic_columns.h"

#include <algorithm>
#include <cmath>

namespace xr::report {

namespace {

// What the data has, or where there is none all packets, so that streams of ACKs and CNPs have
// theirs.
template <class Bits> uint64_t bits_of(const StreamTraffic &traffic, Bits PartTraffic::*bits) {
  if (const PartTraffic &data = traffic.of(TrafficPart::Data); data.packets())
    return data.*bits;
  uint64_t all = 0;
  for (const PartTraffic &part : traffic.parts)
    all |= part.*bits;
  return all;
}

NumberList numbers(uint64_t bits, unsigned end) {
  NumberList list;
  for (unsigned bit = 0; bit < end; bit++)
    if (bits >> bit & 1)
      list.push_back(bit);
  return list;
}

Value ect(const StreamTraffic &traffic) {
  const PartTraffic &data = traffic.of(TrafficPart::Data);
  if (!data.packets())
    return {};
  return std::round(static_cast<double>(data.ect()) / static_cast<double>(data.packets()) * 1e4) /
         1e4;
}

Value ports(const StreamTraffic &traffic) {
  NumberList list(traffic.ports.begin(), traffic.ports.begin() + traffic.ports_used);
  std::ranges::sort(list);
  return list;
}

} // namespace

const std::vector<TrafficColumn> &traffic_columns() {
  static const std::vector<TrafficColumn> kColumns = {
      {{"ect", "ECT", Format::Rate, Hide::Zero}, ect},
      {{"dscp", "DSCP", Format::Number, Hide::Zero},
       [](const StreamTraffic &t) -> Value {
         return numbers(bits_of(t, &PartTraffic::dscps), 64);
       }},
      {{"pcp", "PCP", Format::Number, Hide::Zero},
       [](const StreamTraffic &t) -> Value {
         return numbers(bits_of(t, &PartTraffic::pcps), PartTraffic::kUntagged);
       }},
      {{"udp_src_ports", "UDP\nPORTS", Format::Number, Hide::Zero}, ports},
  };
  return kColumns;
}

} // namespace xr::report
