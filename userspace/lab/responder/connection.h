// SPDX-License-Identifier: Apache-2.0
// The responder side of one connected QP: executes requests and queues responses (IBA vol. 1, 9.7).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/ring.h"
#include "packet/peer_map.h"
#include "responder/peer_path.h"
#include "responder/responder.h"

namespace xr::responder {

// ROCE_HAS_... and ROCE_OP_... bits of its opcode.
inline uint64_t properties(const roce_packet &packet) {
  return roce_opcode_properties[packet.opcode];
}

inline packet::PeerKey connection_key(const packet::Address &peer, uint32_t qpn,
                                      uint8_t transport) {
  return {peer, qpn | static_cast<uint32_t>(transport) << 24};
}

constexpr uint8_t kInvalidRequest = 0x61; // syndrome: IBA vol. 1, 9.7.5.2.1

// One packet to send.
struct ResponsePacket {
  uint8_t opcode = 0; // including the transport's prefix
  uint32_t payload = 0;
  uint32_t psn = 0;
  uint32_t aeth = 0;
  AckKind kind = {};
  uint64_t original = 0; // ATOMIC ACKNOWLEDGE
  uint64_t va = 0;       // READ responses: where their data is in ResponderOptions::memory
};

class Connection {
public:
  // Size of the response queue; further requests are dropped as if lost.
  static constexpr size_t kMaxResponses = 128;
  // Number of atomic results kept for duplicate requests.
  static constexpr size_t kMaxAtomicResults = 16;

  struct Kept {
    roce_packet packet{};
    // An atomic's, or with a memory any request's, with XRCETH and AtomicETH at most.
    std::array<uint8_t, ROCE_BTH_LEN + 4 + 28> bth{};
    std::vector<uint8_t> payload; // with a memory
  };
  struct PsnBefore {
    bool operator()(uint32_t a, uint32_t b) const { return roce_psn_diff(a, b) < 0; }
  };
  using KeptRequests = std::map<uint32_t, Kept, PsnBefore>; // by PSN
  struct KeptRoom {
    size_t left;                                // requests that all connections may still keep
    std::vector<KeptRequests::node_type> spare; // of those kept before
  };

  Connection() = default;
  Connection(const packet::PeerKey &peer, uint8_t transport, uint32_t peer_qp, uint32_t pmtu)
      : key(peer), transport_(transport), port_(response_port(peer.number)), peer_qp_(peer_qp),
        pmtu_(pmtu) {}

  // Sets the first PSN, as negotiated by RDMA CM.
  void expect(uint32_t psn) {
    expected_ = psn;
    has_expected_ = true;
  }

  // Processes a request for this QP and transport. `bth` points to its BTH.
  void receive(const uint8_t *bth, const roce_packet &packet, const ResponderOptions &options,
               RespondCounts &counts, KeptRoom &kept_room);
  void forget_kept(KeptRoom &kept_room);

  bool has_responses() const { return !responses_.empty(); }
  bool reads_next() const { return !responses_.empty() && responses_.front().kind == Kind::Read; }
  // Removes the next packet from the response queue.
  ResponsePacket next_packet(RespondCounts &counts);

  uint32_t peer_qp() const { return peer_qp_; }
  uint16_t port() const { return port_; }

  ConnectionCounts *own = nullptr; // with ResponderOptions::connection_counts
  PeerPath *path = nullptr;        // path of its last request
  packet::PeerKey key;
  bool alive = false, queued = false; // in the responder's table; in its send queue, or paced
  static constexpr uint32_t kUnpaced = UINT32_MAX;
  uint32_t pace = kUnpaced; // its number in the pacing of READ responses; kept when it is reused
  bool paced = false;       // since it sent a READ response

private:
  enum class Kind : uint8_t { Ack, Nak, Atomic, Read, Empty };
  struct Response {
    Kind kind = Kind::Ack;
    uint32_t psn = 0; // of the next packet
    uint32_t aeth = 0;
    bool echo = false;              // Ack: a CE mark arrived since the last one
    uint32_t pmtu = 0, packets = 0; // Read: packets left
    bool begun = false;             // Read: the first packet was sent
    uint64_t value = 0;             // Read: bytes left; Atomic: the result
    uint64_t va = 0;                // Read: of the next byte
  };
  struct AtomicResult {
    uint32_t psn = ROCE_QPN_UNKNOWN;
    uint64_t original = 0;
  };
  struct Context {
    const uint8_t *bth;
    const uint8_t *payload; // nullptr without ResponderOptions::memory and receiver
    const roce_packet &packet;
    const ResponderOptions &options;
    RespondCounts &counts;
    KeptRoom &kept_room;
    uint32_t psns;
  };
  enum class Inside : uint8_t { Nothing, Send, Write };

  void unreliable(const Context &c);
  uint32_t psns_of(const roce_packet &packet) const;
  bool is_qpn_reused(const Context &c, int32_t distance) const;
  bool may_start(const Context &c);
  void start_at(uint32_t psn, KeptRoom &kept_room);
  void ahead(const Context &c);
  void ask_for_expected();
  void keep(const Context &c);
  void take_kept(const Context &c);
  void duplicate(const Context &c);
  void replay_read(const Context &c);
  void replay_atomic(const Context &c);
  bool in_order(const Context &c);
  bool is_legal(const Context &c) const;
  bool refuse_rnr(const Context &c);
  bool has_receive(const Context &c);
  void report(const Context &c);
  void withdraw_nak();
  void framing(const Context &c);
  void execute(const Context &c);
  uint64_t atomic(const Context &c);
  uint8_t access_memory(const Context &c);
  bool may_read_again(const Context &c, uint64_t &va) const;
  void enter_error(const Context &c);
  void refuse(const Context &c, uint8_t syndrome);
  void acknowledge(const Context &c, uint32_t psn);
  void queue_read(uint32_t psn, uint32_t length, uint32_t packets, uint64_t va);
  uint32_t positive() const { return 0x1fU << 24 | msn_; }
  uint8_t read_opcode(const Response &response) const;

  bool has_expected_ = false; // expected_ is valid
  // A NAK asked for start_wanted_, the packet before the earliest that arrived of a message whose
  // first is missing.
  bool start_missing_ = false;
  uint32_t start_wanted_ = 0;
  uint32_t passed_over_ = 0; // starts of messages after it that were not taken
  // True if expected_ started at start_psn_, the PSN of the first request that arrived.
  bool started_here_ = false;
  bool nak_ = false;      // a NAK for expected_ was queued
  bool invalid_ = false;  // that NAK is an invalid request NAK, not PSN sequence error or RNR
  bool rnr_done_ = false; // the next message got its RNR NAK
  bool filling_ = false;  // takes kept requests
  bool marked_ = false;   // with CE: a request since the last ACK
  bool in_error_ = false; // refused an access to memory; drops all requests
  uint8_t transport_ = ROCE_RC;
  Inside inside_ = Inside::Nothing;
  uint16_t port_ = 0;
  uint32_t start_psn_ = 0;
  uint32_t expected_ = 0, msn_ = 0, peer_qp_ = 0, pmtu_ = 1024;
  uint32_t since_ack_ = 0;
  uint64_t messages_begun_ = 0;             // messages started
  uint64_t message_bytes_ = 0;              // bytes of the current message
  uint64_t memory_word_ = 0;                // of all atomics, without a memory
  uint64_t request_va_ = 0;                 // of the newest READ or atomic
  uint64_t write_va_ = 0;                   // where the rest of the WRITE goes
  uint32_t write_left_ = 0;                 // its bytes
  uint32_t read_first_ = 0, read_psns_ = 0; // first PSN and number of PSNs of the newest READ
  Ring<Response> responses_;
  Ring<AtomicResult> atomics_;
  KeptRequests kept_; // all after expected_
};

} // namespace xr::responder
