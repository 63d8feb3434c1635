// SPDX-License-Identifier: Apache-2.0
// The notification point of DCQCN: sends at most one CNP per interval for each stream, each pair of
// hosts, or the port (IBA vol. 1, annex A17.9.3).
#pragma once

#include <cstdint>

#include "packet/peer_map.h"

namespace xr::congestion {

enum class CnpScope : uint8_t { Stream, Pair, Port };

struct CnpPacing {
  uint64_t interval_ns = 50'000;
  CnpScope scope = CnpScope::Stream;
};

class NotificationPoint {
public:
  // `entries`: the maximum number of streams or pairs that are remembered.
  NotificationPoint(const CnpPacing &pacing, size_t entries) : pacing_(pacing), last_(entries) {}

  enum class Verdict : uint8_t { Send, Paced, NoRoom };
  // Decides whether a CNP is sent for this CE-marked packet.
  Verdict decide(uint64_t now, const roce_packet &packet) {
    const packet::PeerKey key = key_of(packet);
    if (uint64_t *last = last_.find(key)) {
      if (now - *last < pacing_.interval_ns)
        return Verdict::Paced;
      *last = now;
      return Verdict::Send;
    }
    // An entry whose interval has passed is not needed. Cleaned once per interval: it scans the
    // map.
    if (last_.full() && now - cleaned_ >= pacing_.interval_ns) {
      cleaned_ = now;
      last_.erase_if([&](const packet::PeerKey &, uint64_t last) {
        return now - last >= pacing_.interval_ns;
      });
    }
    return last_.insert(key, now) ? Verdict::Send : Verdict::NoRoom;
  }

private:
  packet::PeerKey key_of(const roce_packet &packet) const {
    if (pacing_.scope == CnpScope::Port)
      return {};
    packet::PeerKey key{packet::source_of(packet), roce_key_qp(&packet.key)};
    if (pacing_.scope == CnpScope::Stream)
      return key;
    // A pair is hashed into one address, so that one map serves all scopes with one lookup.
    const packet::Address to = packet::destination_of(packet);
    for (unsigned i = 0; i < 4; i++)
      key.address[i] ^= to[i] * 0x9e3779b1U;
    key.number = 1U << 31;
    return key;
  }

  CnpPacing pacing_;
  packet::PeerMap<uint64_t> last_;
  uint64_t cleaned_ = 0;
};

} // namespace xr::congestion
