// SPDX-License-Identifier: Apache-2.0
// The notification point of DCQCN: one CNP an interval, for a stream, a pair of hosts, or in all.
#pragma once

#include <cstdint>

#include "traffic/peer_map.h"
#include "traffic/responder.h"

namespace xr::traffic {

class CnpPacer {
public:
  explicit CnpPacer(const ResponderOptions &options) : options_(options), last_(options.qps) {}

  enum class Verdict : uint8_t { Send, Paced, NoRoom };
  // Whether a CNP goes out for this packet that is marked.
  Verdict ask(uint64_t now, const roce_packet &packet) {
    const PeerKey key = key_of(packet);
    if (uint64_t *last = last_.find(key)) {
      if (now - *last < options_.cnp_interval_ns)
        return Verdict::Paced;
      *last = now;
      return Verdict::Send;
    }
    // Whoever waited long enough needs no entry. Looked for once an interval: it takes long.
    if (last_.full() && now - cleaned_ >= options_.cnp_interval_ns) {
      cleaned_ = now;
      last_.erase_if(
          [&](const PeerKey &, uint64_t last) { return now - last >= options_.cnp_interval_ns; });
    }
    return last_.insert(key, now) ? Verdict::Send : Verdict::NoRoom;
  }

private:
  using Scope = ResponderOptions::Scope;

  PeerKey key_of(const roce_packet &packet) const {
    if (options_.cnp_scope == Scope::Port)
      return {};
    PeerKey key{source_of(packet), roce_key_qp(&packet.key)};
    if (options_.cnp_scope == Scope::Stream)
      return key;
    // A pair, as one address that is as good as both: the map is asked once.
    const packet::Address to = destination_of(packet);
    for (unsigned i = 0; i < 4; i++)
      key.address[i] ^= to[i] * 0x9e3779b1U;
    key.number = 1U << 31;
    return key;
  }

  const ResponderOptions &options_;
  PeerMap<uint64_t> last_;
  uint64_t cleaned_ = 0;
};

} // namespace xr::traffic
