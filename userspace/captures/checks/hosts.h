// SPDX-License-Identifier: Apache-2.0
// Streams by the hosts between which they pass.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "model/snapshot.h"

namespace xr::checks {

using Hosts = std::pair<Address, Address>;           // from, to
using StreamList = std::vector<const roce_stream *>; // of the snapshot

Hosts hosts_of(const roce_key &key);
inline Hosts back(const Hosts &hosts) { return {hosts.second, hosts.first}; }
// One value for both directions.
Hosts unordered(const Hosts &hosts);
std::string text_of(const Hosts &hosts); // "192.0.2.1 to 192.0.2.2"

// By direction; with `both` by pair of hosts.
std::map<Hosts, StreamList> by_hosts(const Snapshot &snapshot, bool both = false);

inline bool is_v1(const roce_stream &stream) { return stream.key.qp_kind & ROCE_KEY_V1; }
// Whether it is of RC, UC or XRC: streams whose rate CNPs lower.
inline bool is_controlled(const roce_stream &stream) {
  return roce_key_kind(&stream.key) != ROCE_KIND_DATAGRAM;
}
// What was collected of a stream in the snapshot; empty: nothing.
const StreamTraffic &traffic_of(const Snapshot &snapshot, const roce_stream &stream);

// Why there is no `traffic`: what of it, as "ECN was", is missing.
std::string without_traffic(const Snapshot &snapshot, const char *what);

// What one part of the packets of some streams use.
struct Classes {
  uint64_t packets = 0, dscps = 0;
  uint16_t pcps = 0;
  uint64_t first_frame = 0;
};
Classes classes_of(const Snapshot &snapshot, const StreamList &streams, TrafficPart part);

std::string bits_text(uint64_t bits); // "8, 26"

} // namespace xr::checks
