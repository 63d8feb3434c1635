// SPDX-License-Identifier: Apache-2.0
// The implementation of Responder: responder.cpp receives, responder_send.cpp sends.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "congestion/qp_pacing.h"
#include "responder/cm_listener.h"
#include "responder/connection.h"
#include "responder/responder.h"

namespace xr::responder {

struct Responder::State {
  explicit State(const ResponderOptions &given);

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet);
  size_t next(uint64_t now, std::span<packet::Outgoing> out);
  // When next() has something to send; kNever: not before another packet arrives.
  uint64_t wake_at() const {
    if (!queue_.empty())
      return 0;
    uint64_t at = cnp_.wake_at();
    if (waiting_)
      at = std::min(at, resumes_at());
    return pacing_ ? std::min(at, pacing_->next_due()) : at;
  }
  void qp_rates(uint64_t now, std::vector<QpRate> &rows);
  bool open_connection(const Connected &made);
  void close_connection(const Connected &ended);
  void forget(const Connected &ended); // RDMA CM's part of it

  const RespondCounts &sum();

  ResponderOptions options;
  RespondCounts counts; // of what no connection counts
  std::vector<std::unique_ptr<ConnectionCounts>> connection_counts;
  std::unique_ptr<stamps::OneWay> latency; // of a sink

private:
  static constexpr size_t kLongestPayload = 4096;

  struct QueueEntry {
    enum class Kind : uint8_t { Connection, Cnp, Raw };
    Kind kind = Kind::Raw;
    uint32_t qp = 0; // Cnp: its destination QPN
    uint16_t port = 0;
    ConnectionCounts *own = nullptr; // Cnp: of the connection, if it has counts
    union {
      Connection *connection = nullptr;
      PeerPath *path;
    };
  };

  bool is_mine(const roce_packet &packet);
  void answer_neighbour(std::span<const uint8_t> frame);
  void dispatch(uint64_t now, std::span<const uint8_t> frame, const roce_packet &packet);
  bool passed_on(std::span<const uint8_t> frame, roce_class class_, const roce_packet &packet);
  std::optional<uint32_t> owner_of(std::span<const uint8_t> frame, const roce_packet &packet);
  void sink(uint64_t now, std::span<const uint8_t> frame, const roce_packet &packet);
  void request(uint64_t now, std::span<const uint8_t> frame, const roce_packet &packet);
  void receive_mad(std::span<const uint8_t> frame, const roce_packet &packet);
  void receive_ce(uint64_t now, PeerPath *path, uint32_t sender, const roce_packet &packet,
                  ConnectionCounts *own);
  void arrived(uint64_t now, std::span<const uint8_t> frame, const roce_packet &packet,
               ConnectionCounts &own) const;
  RespondCounts &counts_of(const Connection &connection) {
    return connection.own ? connection.own->counts : counts;
  }

  Connection *connection_of(const roce_packet &packet);
  Connection *connect(const packet::PeerKey &key, uint32_t peer_qp, uint32_t pmtu);
  void datagram(std::span<const uint8_t> frame, const roce_packet &packet) const;
  void release(Connection *connection);
  uint32_t peer_of(uint32_t qpn) const;

  void enqueue(const QueueEntry &entry);
  void enqueue(std::vector<uint8_t> raw);
  bool send(uint64_t now, packet::Outgoing &out);
  unsigned priority_of(const QueueEntry &entry) const;
  bool is_paused(uint64_t now);
  void take_resumed(uint64_t now);
  uint64_t resumes_at() const;
  bool must_wait(uint64_t now, Connection &connection);
  void receive_cnp(uint64_t now, const roce_packet &packet);
  void queue_responses(uint64_t now, Connection *connection);
  void end_turn(Connection *connection);
  void send_response(Connection &connection, packet::Outgoing &out);
  void send_template(PeerPath &path, const ResponsePacket &response, const packet::Fields &fields,
                     packet::Outgoing &out);
  void send_memory(PeerPath &path, const ResponsePacket &response, const packet::Fields &fields,
                   packet::Outgoing &out);
  void send_atomic(PeerPath &path, const ResponsePacket &response, const packet::Fields &fields,
                   packet::Outgoing &out);
  void send_raw(std::vector<uint8_t> raw, packet::Outgoing &out);

  std::vector<packet::Address> addresses_; // sorted
  packet::Address last_mine_{};
  PeerPaths paths_;
  packet::PeerMap<Connection *> index_;
  std::deque<Connection> connections_;
  std::vector<Connection *> free_;
  congestion::BasicNotificationPoint<QueueEntry> cnp_;
  std::optional<congestion::QpPacing> pacing_; // of READ responses
  std::vector<Connection *> paced_;            // by number in pacing_
  std::unique_ptr<CmListener> cm_;             // nullptr: nobody asked it yet
  // 200 MB, or with their payload 280 MB.
  Connection::KeptRoom kept_room_{.left = size_t{1} << (options.memory ? 16 : 20), .spare = {}};
  uint32_t mad_psn_ = 0;
  RespondCounts sum_;

  Ring<QueueEntry> queue_;
  std::array<Ring<QueueEntry>, packet::kPriorities> paused_queues_;
  uint32_t waiting_ = 0;                       // bit n: paused_queues_[n] has entries
  unsigned turn_ = 0;                          // packets sent for the QP at the front
  size_t queued_frames_ = 0;                   // entries of the queue that are not connections
  Ring<std::vector<uint8_t>> raws_;            // the frames of Raw entries, in order
  std::vector<std::vector<uint8_t>> sent_raw_; // keeps the raw frames of the last next() valid
  std::vector<std::unique_ptr<std::array<uint8_t, kLongestPayload>>>
      read_data_; // keeps payload from the memory valid
  size_t read_data_used_ = 0;
};

} // namespace xr::responder
