// SPDX-License-Identifier: Apache-2.0
// Queue pairs with both sides: each sends requests and answers the peer's, has receives, and may be
// connected by RDMA CM from either side. A program above them posts work and hears what happens. In
// virtual time: the caller uses one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ring.h"
#include "flow/flow.h"
#include "packet/source.h"
#include "requester/cm_connector.h"
#include "requester/reliable.h"
#include "responder/responder.h"
#include "station/answer_faults.h"

namespace xr::station {

// Both ends of a QP, as its attributes say.
struct QpEnds {
  packet::Path path; // to the peer, with all addresses
  // nullopt: the peer's first packet shows it; until use_transport() they send nothing.
  std::optional<uint8_t> transport = ROCE_RC;
  uint32_t qp = 0, peer_qp = 0;
  uint32_t psn = 0, peer_psn = 0; // of the own and of the peer's first request
  uint32_t pmtu = 1024;
  uint32_t rkey = 0;                // of most requests
  uint32_t own_id = 0, peer_id = 0; // of RDMA CM, where the peer connected it
};

struct QpEvent {
  enum class Kind : uint8_t {
    Sent,         // the oldest message that was posted is complete
    Failed,       // `syndrome`: of the NAK that ended it; 0: no answer came
    Arrived,      // `message`; of a SEND its first bytes in `bytes`
    Connected,    // by the peer, over RDMA CM
    Disconnected, // by the peer
    Opened,       // connect(): its QP is connected
    Refused,      // connect(): it is not
  };
  Kind kind = Kind::Sent;
  uint32_t qp = 0; // the own one
  uint8_t syndrome = 0;
  responder::Arrived message = {};
  std::span<const uint8_t> bytes = {};
};

// What the peer's requests did since forget_counts(): a round is a request that does not come after
// the one before it of its QP. Times are 0 until they happen.
struct Reaction {
  uint64_t faults = 0, first_fault_ns = 0; // of the answers
  uint64_t rounds = 0;
  uint64_t first_again_ns = 0, last_again_ns = 0; // first: after the first fault, if there was one
  uint64_t last_request_ns = 0;
};

// Called between two packets, so that it may post, open and close.
class QpProgram {
public:
  virtual ~QpProgram() = default;
  virtual void event(uint64_t now, const QpEvent &event) = 0;
  // At the time that the program asked for; kNever: at no time.
  virtual void wake(uint64_t /*now*/) {}
  virtual uint64_t wake_at() const { return kNever; }
  // The answer to a REQ; default: a REP.
  virtual responder::Receiver::Answer requested(const packet::CmMessage & /*request*/) {
    return {};
  }
};

struct QueuePairOptions {
  responder::ResponderOptions responder; // receiver and open_only are set
  requester::Reliability reliability;    // completions is set
  std::vector<flow::Fault> faults;       // of the requests of all QPs
  std::vector<AnswerFault> answer_faults;
  uint64_t receives = UINT64_MAX; // of each QP; kUnlimited: always one
  std::optional<uint32_t> rkey;   // of all requests, whatever the peer has announced
  double line_bits = 0;           // a second
  const packet::Pauses *pauses = nullptr;
  uint64_t seed = 0;
};

class QueuePairs : public packet::Source,
                   private responder::Receiver,
                   private requester::Completions {
public:
  static constexpr uint64_t kUnlimited = UINT64_MAX; // receives

  explicit QueuePairs(const QueuePairOptions &options);
  ~QueuePairs() override;

  // What hears of events; before any other call.
  void run(QpProgram *program) { program_ = program; }

  // A number for a QP, another one each time.
  uint32_t new_qp();
  uint32_t random_psn();
  // These QPs send from now on: their PSNs and peers are known.
  void open(const std::vector<QpEnds> &all);
  // The transport of those where it was not known.
  void use_transport(uint8_t transport);
  // Connects QPs, and opens each with its event. The `peer_qp` and both PSNs follow.
  void connect(uint64_t now, const std::vector<QpEnds> &all, uint64_t service);
  // Disconnects what RDMA CM connected, from either side. The others are closed by close().
  void disconnect(uint64_t now);
  // None of what was connected from here is left, or nobody answers.
  bool disconnected() const;
  // What is outstanding is given up.
  void close(uint32_t qp);
  void close_all();
  void post(uint64_t now, uint32_t qp, const requester::Post &post);
  // Receives of a QP from now on, and the bytes of a SEND that are kept for its event. A QP that
  // the peer has disconnected may be gone: nothing happens then, and its ends are empty.
  void receives(uint32_t qp, uint64_t count);
  void keep(uint32_t qp, size_t bytes);
  void set_rkey(uint32_t qp, uint32_t rkey);
  bool has(uint32_t qp) const { return slots_.contains(qp); }
  uint64_t outstanding(uint32_t qp) const;
  const QpEnds &ends(uint32_t qp) const;

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override;
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return false; }

  const RespondCounts &responded() const { return responder_.counts(); }
  // The counts of all QPs since the last call of forget_counts(), closed ones too.
  SendCounts sent() const;
  Reaction reaction() const;
  uint64_t last_request_ns() const { return reaction_.last_request_ns; }
  void forget_counts();

private:
  struct Group {
    std::unique_ptr<requester::ReliableSource> source;
    size_t open = 0; // QPs
  };
  struct Slot {
    QpEnds ends;
    Group *group = nullptr;
    size_t index = 0; // of its flow in the group
    uint64_t receives = kUnlimited;
    uint64_t outstanding = 0; // messages that were posted and are not complete
    size_t keep = 0;
    std::vector<uint8_t> bytes;     // the first ones of the newest SEND
    std::optional<uint32_t> newest; // last PSN of the peer's newest request
  };
  struct Connecting {
    std::unique_ptr<requester::CmConnector> connector;
    std::vector<QpEnds> ends; // by connection
    bool settled = false;     // they are opened, or refused
  };
  // A DREQ to a peer that connected the QP, until its DREP comes.
  struct Leaving {
    packet::Path path;
    packet::CmMessage message;
    uint64_t due = 0;
    unsigned tries = 0;
  };
  struct Event {
    QpEvent event;
    std::unique_ptr<QpEnds> ends; // of Connected
  };

  bool take_receive(uint32_t qp) override;
  void payload(uint32_t qp, uint64_t offset, std::span<const uint8_t> bytes) override;
  void arrived(const responder::Arrived &message) override;
  Answer requested(const packet::CmMessage &request) override;
  void connected(const responder::Connected &connected, const packet::CmMessage &request,
                 const packet::Path &back) override;
  void disconnected(uint32_t own_qp) override;
  void completed(const flow::Flow &flow) override;
  void failed(const flow::Flow &flow, uint8_t syndrome) override;

  flow::Flow flow_of(const QpEnds &ends) const;
  void tell(QpEvent::Kind kind, uint32_t qp, uint8_t syndrome = 0);
  void handle_events(uint64_t now);
  bool take_mad(uint64_t now, std::span<const uint8_t> frame, const roce_packet &packet);
  void advance_connectors(uint64_t now);
  size_t send_dreqs(uint64_t now, std::span<packet::Outgoing> out, size_t count);
  bool write_mad(packet::Path path, const packet::CmMessage &message, packet::Outgoing &out);
  void begin(std::vector<Slot *> slots);
  void watch(uint64_t now, const roce_packet &packet);
  size_t send_mads(uint64_t now, std::span<packet::Outgoing> out);

  QueuePairOptions options_;
  responder::Responder responder_;
  QpProgram *program_ = nullptr;
  std::unordered_map<uint32_t, Slot> slots_; // by the own QPN
  std::vector<std::unique_ptr<Group>> groups_;
  SendCounts closed_; // of groups that are closed
  std::vector<Connecting> connecting_;
  std::vector<Leaving> leaving_;
  Ring<Event> events_;
  AnswerFaults answer_faults_;
  Reaction reaction_;
  std::vector<std::vector<uint8_t>> sent_mads_; // keeps those of the last next() valid
  uint32_t mad_psn_ = 0, next_qp_;
  uint64_t draws_ = 0;
  bool answers_first_ = true;
};

} // namespace xr::station
