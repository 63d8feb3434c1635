// SPDX-License-Identifier: Apache-2.0
// One connected QP as the responder has it: what its requests do, and the answers it owes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/ring.h"
#include "packet/peer_map.h"
#include "responder/peer_path.h"
#include "responder/responder.h"

namespace xr::responder {

// A packet that a connection sends now.
struct AnswerPacket {
  uint8_t opcode = 0; // with the transport's prefix
  uint32_t payload = 0;
  uint32_t psn = 0;
  uint32_t aeth = 0;
  uint64_t original = 0; // ATOMIC ACKNOWLEDGE
};

class Connection {
public:
  // Answers that are remembered; requests beyond are as if lost.
  static constexpr size_t kAnswers = 128;
  // Results of atomics that can be asked for again.
  static constexpr size_t kAtomics = 16;

  Connection() = default;
  Connection(const packet::PeerKey &peer, uint8_t transport, uint32_t peer_qp, uint32_t pmtu)
      : key(peer), transport_(transport), port_(answer_port(peer.number)), peer_qp_(peer_qp),
        pmtu_(pmtu) {}

  // What RDMA CM told.
  void expect(uint32_t psn) {
    expected_ = psn;
    known_ = true;
  }

  // A request for this QP, of its transport. `bth` is where its BTH stands.
  void receive(const uint8_t *bth, const roce_packet &packet, const ResponderOptions &options,
               RespondCounts &counts);

  bool owes() const { return !answers_.empty(); }
  // The next packet of what is owed.
  AnswerPacket take(RespondCounts &counts);

  uint32_t peer_qp() const { return peer_qp_; }
  uint16_t port() const { return port_; }

  PeerPath *path = nullptr; // where its last request came from
  packet::PeerKey key;
  bool alive = false, queued = false; // in the responder's table; in its queue

private:
  enum class Kind : uint8_t { Ack, Nak, Atomic, Read, Empty };
  struct Answer {
    Kind kind = Kind::Ack;
    uint32_t psn = 0; // of the next packet
    uint32_t aeth = 0;
    uint32_t pmtu = 0, packets = 0; // Read: packets to come
    bool begun = false;             // Read
    uint64_t value = 0;             // Read: bytes to come; Atomic: the result
  };
  struct AtomicResult {
    uint32_t psn = ROCE_QPN_UNKNOWN;
    uint64_t original = 0;
  };
  struct Context {
    const uint8_t *bth;
    const roce_packet &packet;
    const ResponderOptions &options;
    RespondCounts &counts;
    uint32_t psns;
  };
  enum class Inside : uint8_t { Nothing, Send, Write };

  void unreliable(const Context &c);
  void adopt(uint32_t psn);
  bool is_new_life(const Context &c, int32_t distance) const;
  void ahead(const Context &c);
  void duplicate(const Context &c);
  void replay_read(const Context &c);
  void replay_atomic(const Context &c);
  void in_order(const Context &c);
  bool is_legal(const Context &c) const;
  bool is_refused(const Context &c);
  void settle_nak();
  void framing(const Context &c);
  void execute(const Context &c);
  uint64_t atomic(const Context &c);
  void refuse(const Context &c, uint8_t syndrome);
  void acknowledge(const Context &c, uint32_t psn);
  void owe_read(uint32_t psn, uint32_t length, uint32_t packets);
  uint32_t positive() const { return 0x1fU << 24 | msn_; }
  uint8_t read_opcode(const Answer &answer) const;

  bool known_ = false;    // expected_ is
  bool adopted_ = false;  // from the first that arrived, which was begun_at_
  bool nak_ = false;      // the PSN expected has been asked for, or refused
  bool invalid_ = false;  // refused for good reasons, not for RNR
  bool rnr_done_ = false; // the next message has been refused
  uint8_t transport_ = ROCE_RC;
  Inside inside_ = Inside::Nothing;
  uint16_t port_ = 0;
  uint32_t begun_at_ = 0;
  uint32_t expected_ = 0, msn_ = 0, peer_qp_ = 0, pmtu_ = 1024;
  uint32_t since_ack_ = 0;
  uint64_t begun_ = 0;                      // messages
  uint64_t message_bytes_ = 0;              // of the message in work
  uint64_t word_ = 0;                       // what atomics work on
  uint32_t read_first_ = 0, read_psns_ = 0; // the newest READ
  Ring<Answer> answers_;
  Ring<AtomicResult> atomics_;
};

} // namespace xr::responder
