// SPDX-License-Identifier: Apache-2.0
// The active side of RDMA CM: connects QPs by REQ, REP and RTU, and ends the connections by DREQ
// and DREP (IBA vol. 1, 12.9). MADs that are not answered are sent again. Virtual time.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

#include "model/run_reports.h"
#include "packet/cm.h"
#include "packet/source.h"

namespace xr::requester {

struct CmOptions {
  uint64_t service_id = packet::cm_service(7174); // of rping
  uint64_t timeout_ns = 500'000'000;              // until a MAD is sent again
  uint32_t retries = 7;                           // of each MAD
  uint64_t seed = 0;                              // of communication IDs and PSNs
};

// One QP to connect.
struct CmEnd {
  packet::Address local{}, remote{};
  uint32_t qpn = 0; // the own one
  uint8_t pmtu_code = 3, transport = 0;
};

// What the peer's REP says.
struct CmPeer {
  uint32_t qpn = 0, psn = 0;       // where requests go, and the PSN of the first
  uint8_t responder_resources = 0; // READs and atomics that it executes at a time
  std::optional<packet::CmMemory> memory;
};

class CmConnector {
public:
  // MADs whose answer is awaited at a time.
  static constexpr size_t kAwaited = 64;

  CmConnector(std::vector<CmEnd> ends, const CmOptions &options);

  // A MAD to send, of the connection `index`.
  struct Mad {
    size_t index;
    packet::CmMessage message;
  };

  void start(uint64_t now);
  void receive(uint64_t now, const packet::Address &peer, const packet::CmMessage &message);
  // The next MAD to send at `now`; nullopt: none. After it, wake_at() is valid.
  std::optional<Mad> next(uint64_t now);
  uint64_t wake_at() const;

  // All connections are made, or have failed.
  bool settled() const { return begun_ && !open_; }
  // Begins to end all connections.
  void disconnect(uint64_t now);
  // A DREQ for the next connection that is not ended, without waiting for the answer.
  std::optional<Mad> abandon();
  bool all_ended() const { return !live_; }

  const CmPeer &peer(size_t index) const { return ends_[index].peer; }
  // The PSN of the peer's first request.
  uint32_t own_psn(size_t index) const { return ends_[index].psn; }
  // It is about one of these connections, not a request for another.
  bool knows(const packet::CmMessage &message) const {
    return message.kind != packet::CmKind::Req && by_id_.contains(message.remote_id);
  }
  const CmCounts &counts() const { return counts_; }

private:
  enum class State : uint8_t { New, Requested, Established, Ending, Ended };
  struct End {
    CmEnd what;
    State state = State::New;
    uint32_t id = 0, peer_id = 0, psn = 0;
    uint64_t transaction = 0, due = kNever;
    uint32_t sends = 0;
    CmPeer peer;
  };

  void request_more(uint64_t now);
  void arm(uint64_t now, End &end, uint64_t wait_ns);
  void disarm(End &end);
  void expire(uint64_t now, End &end);
  void finish(End &end);
  void reply(End &end, const packet::CmMessage &message);
  void rejected(End &end, const packet::CmMessage &message);
  void send(End &end, packet::CmKind kind, const packet::CmMessage *to = nullptr);
  packet::CmMessage message_of(const End &end, packet::CmKind kind) const;
  size_t index_of(const End &end) const { return static_cast<size_t>(&end - ends_.data()); }

  CmOptions options_;
  std::vector<End> ends_;
  std::unordered_map<uint32_t, size_t> by_id_;
  std::set<std::pair<uint64_t, size_t>> timers_;
  std::vector<Mad> queue_; // to send, the newest last
  size_t queue_from_ = 0;
  size_t next_request_ = 0, next_end_ = 0;
  size_t awaited_ = 0; // connections whose answer is awaited
  size_t open_ = 0;    // connections not made and not failed
  size_t live_ = 0;    // connections requested and not ended
  bool begun_ = false, ending_ = false;
  CmCounts counts_;
};

} // namespace xr::requester
