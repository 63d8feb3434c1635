// SPDX-License-Identifier: Apache-2.0
// The rates of READ responses, QP by QP.
#include "congestion/qp_rates.h"
#include "responder/responder_state.h"

namespace xr::responder {

// Queues a connection that had no responses.
void Responder::State::queue_responses(uint64_t now, Connection *connection) {
  connection->queued = true;
  if (pacing_ && connection->paced)
    pacing_->not_before(connection->pace, now);
  queue_.push({.kind = QueueEntry::Kind::Connection, .connection = connection});
}

// Whether the connection at the front may not send its READ response yet; it waits then.
bool Responder::State::must_wait(uint64_t now, Connection &connection) {
  if (!connection.paced) {
    connection.paced = true;
    if (connection.pace != Connection::kUnpaced) {
      pacing_->begin_anew(connection.pace, now);
    } else {
      connection.pace = pacing_->add(now);
      paced_.push_back(&connection);
    }
  }
  if (pacing_->due(connection.pace) <= now)
    return false;
  turn_ = 0;
  queue_.pop();
  pacing_->wait(connection.pace);
  return true;
}

// A CNP has the QPN here and the peer's address, but no transport.
void Responder::State::receive_cnp(uint64_t now, const roce_packet &packet) {
  for (const uint32_t transport : {ROCE_RC, ROCE_XRC}) {
    const packet::PeerKey key{packet::source_of(packet),
                              roce_key_qp(&packet.key) | transport << 24};
    if (Connection **known = index_.find(key); known && (*known)->paced) {
      counts.cnps_received++;
      pacing_->cnp((*known)->pace, now);
      return;
    }
  }
  counts.cnps_stray++;
}

void Responder::State::qp_rates(uint64_t now, std::vector<QpRate> &rows) {
  if (!pacing_ || !pacing_->dynamic())
    return;
  for (const Connection *connection : paced_)
    if (connection->alive && connection->paced)
      congestion::append_qp_rate(*pacing_, connection->pace, connection->key.number, now, rows);
}

} // namespace xr::responder
