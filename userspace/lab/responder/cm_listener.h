// SPDX-License-Identifier: Apache-2.0
// The passive side of RDMA CM: accepts connections while there is room, unless the receiver rejects
// them (IBA vol. 1, 12.9).
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <unordered_set>

#include "packet/cm.h"
#include "packet/peer_map.h"
#include "responder/responder.h"

namespace xr::responder {

struct CmReaction {
  std::optional<packet::CmMessage> answer;
  std::optional<Connected> made, ended;
};

class CmListener {
public:
  explicit CmListener(const ResponderOptions &options);

  CmReaction receive(const packet::Address &peer, const packet::CmMessage &message,
                     RespondCounts &counts);

  // A connection that this side ends.
  std::optional<Connected> forget(const packet::Address &peer, uint32_t peer_id);

private:
  CmReaction request(const packet::Address &peer, const packet::CmMessage &message,
                     RespondCounts &counts);
  CmReaction reject(const packet::CmMessage &message, uint16_t reason, RespondCounts &counts);
  Connected accept(const packet::Address &peer, const packet::CmMessage &message, uint32_t qp);
  std::optional<uint32_t> free_qp(const packet::Address &peer, uint8_t transport);

  const ResponderOptions &options_;
  packet::PeerMap<Connected> connections_; // by the peer's address and communication ID
  std::unordered_set<uint32_t> qps_;
  std::mt19937_64 random_;
  // The QPNs and IDs of siblings differ: each takes every step_-th.
  const uint32_t step_;
  uint64_t next_qp_;
  uint32_t next_id_;
};

} // namespace xr::responder
