// SPDX-License-Identifier: Apache-2.0
#include "responder/state.h"

namespace xr::responder {
namespace {

// CNPs and whole frames that wait to leave; what comes beyond is not answered.
constexpr size_t kNotices = 65536;
// Packets of one QP's READ responses before another QP's turn.
constexpr unsigned kTurn = 16;

} // namespace

void Responder::State::notice(const Item &item) {
  if (notices_ >= kNotices) {
    counts.answers_dropped++;
    return;
  }
  notices_++;
  queue_.push(item);
}

void Responder::State::notice(std::vector<uint8_t> raw) {
  if (notices_ < kNotices)
    raws_.push_back(std::move(raw));
  notice(Item{});
}

size_t Responder::State::next(std::span<packet::Outgoing> out) {
  sent_raw_.clear();
  size_t count = 0;
  while (count < out.size() && !queue_.empty())
    if (send(out[count]))
      count++;
  return count;
}

// The next packet of the item in front; whether there was one.
bool Responder::State::send(packet::Outgoing &out) {
  const Item item = queue_.front();
  if (item.kind == Item::Kind::Connection) {
    const bool sent = item.connection->alive && item.connection->owes();
    if (sent)
      send_answer(*item.connection, out);
    after(item.connection);
    return sent;
  }
  queue_.pop();
  notices_--;
  if (item.kind == Item::Kind::Cnp) {
    const packet::Fields fields{.dest_qp = item.qp, .src_port = item.port};
    send_shape(*item.path, ROCE_OPCODE_CNP, 0, fields, out);
  } else {
    send_raw(std::move(raws_.front()), out);
    raws_.pop_front();
  }
  return true;
}

// The connection in front stays, goes to the end, or leaves the queue.
void Responder::State::after(Connection *connection) {
  const bool more = connection->alive && connection->owes();
  if (more && ++turn_ < kTurn)
    return;
  turn_ = 0;
  queue_.pop();
  if (more) {
    queue_.push({.kind = Item::Kind::Connection, .connection = connection});
    return;
  }
  connection->queued = false;
  if (!connection->alive)
    free_.push_back(connection);
}

void Responder::State::send_answer(Connection &connection, packet::Outgoing &out) {
  const AnswerPacket answer = connection.take(counts);
  const packet::Fields fields{.dest_qp = connection.peer_qp(),
                              .psn = answer.psn,
                              .src_port = connection.port(),
                              .aeth = answer.aeth};
  if (answer.original)
    send_atomic(*connection.path, answer, fields, out);
  else
    send_shape(*connection.path, answer.opcode, answer.payload, fields, out);
}

void Responder::State::send_shape(PeerPath &path, uint8_t opcode, uint32_t payload,
                                  const packet::Fields &fields, packet::Outgoing &out) {
  if (const packet::Template *shape = path.shape(opcode, payload))
    out = {.shape = shape, .fields = fields};
  else
    send_raw(path.build(opcode, payload, fields, 0), out);
}

// Templates have no field for the original value.
void Responder::State::send_atomic(PeerPath &path, const AnswerPacket &answer,
                                   const packet::Fields &fields, packet::Outgoing &out) {
  send_raw(path.build(answer.opcode, 0, fields, answer.original), out);
}

void Responder::State::send_raw(std::vector<uint8_t> raw, packet::Outgoing &out) {
  sent_raw_.push_back(std::move(raw));
  out = {.fields = {}, .raw = sent_raw_.back()}; // the bytes stay when the vector grows
}

} // namespace xr::responder
