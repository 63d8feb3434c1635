// SPDX-License-Identifier: Apache-2.0
#include "checks/hosts.h"

#include <algorithm>

#include <fmt/format.h>

#include "names/names.h"

namespace xr::checks {

Hosts hosts_of(const roce_key &key) {
  Hosts hosts;
  std::copy_n(key.src, 4, hosts.first.begin());
  std::copy_n(key.dst, 4, hosts.second.begin());
  return hosts;
}

Hosts unordered(const Hosts &hosts) { return hosts.first > hosts.second ? back(hosts) : hosts; }

std::string text_of(const Hosts &hosts) {
  return fmt::format("{} to {}", names::address(hosts.first.data()),
                     names::address(hosts.second.data()));
}

std::map<Hosts, StreamList> by_hosts(const Snapshot &snapshot, bool both) {
  std::map<Hosts, StreamList> groups;
  for (const roce_stream &stream : snapshot.streams) {
    const Hosts hosts = hosts_of(stream.key);
    groups[both ? unordered(hosts) : hosts].push_back(&stream);
  }
  return groups;
}

const StreamTraffic &traffic_of(const Snapshot &snapshot, const roce_stream &stream) {
  static const StreamTraffic kNone{};
  const auto place = static_cast<size_t>(&stream - snapshot.streams.data());
  return place < snapshot.traffic.size() ? snapshot.traffic[place] : kNone;
}

std::string without_traffic(const Snapshot &snapshot, const char *what) {
  return snapshot.streams.empty() ? "no RoCE streams"
                                  : fmt::format("{} not collected by stream", what);
}

Classes classes_of(const Snapshot &snapshot, const StreamList &streams, TrafficPart part) {
  Classes all;
  for (const roce_stream *stream : streams) {
    const PartTraffic &traffic = traffic_of(snapshot, *stream).of(part);
    all.packets += traffic.packets();
    all.pcps |= traffic.pcps;
    if (!is_v1(*stream)) // which has a class, but no DSCP
      all.dscps |= traffic.dscps;
    if (!all.first_frame)
      all.first_frame = traffic.first_frame;
  }
  return all;
}

std::string bits_text(uint64_t bits) {
  std::string text;
  for (unsigned bit = 0; bit < 64; bit++)
    if (bits >> bit & 1)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", bit);
  return text;
}

} // namespace xr::checks
