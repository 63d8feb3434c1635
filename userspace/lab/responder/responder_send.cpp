// SPDX-License-Identifier: Apache-2.0
#include "responder/responder_state.h"

namespace xr::responder {
namespace {

// Maximum number of queued CNPs and raw frames; more are dropped and counted.
constexpr size_t kMaxQueuedFrames = 65536;
// Packets of one QP before the next QP's turn.
constexpr unsigned kTurn = 16;

uint32_t length_of(const packet::Outgoing &out) {
  return static_cast<uint32_t>(out.shape ? out.shape->size() : out.raw.size());
}

} // namespace

void Responder::State::enqueue(const QueueEntry &entry) {
  if (queued_frames_ >= kMaxQueuedFrames) {
    counts.answers_dropped++;
    return;
  }
  queued_frames_++;
  queue_.push(entry);
}

void Responder::State::enqueue(std::vector<uint8_t> raw) {
  if (queued_frames_ < kMaxQueuedFrames)
    raws_.push(std::move(raw));
  enqueue(QueueEntry{});
}

size_t Responder::State::next(uint64_t now, std::span<packet::Outgoing> out) {
  sent_raw_.clear();
  read_data_used_ = 0;
  for (QueueEntry due; cnp_.take_due(now, due);) {
    (due.own ? due.own->counts : counts).cnps++;
    enqueue(due);
  }
  for (uint32_t number = 0; pacing_ && pacing_->take_due(now, number);)
    queue_.push({.kind = QueueEntry::Kind::Connection, .connection = paced_[number]});
  take_resumed(now);
  size_t count = 0;
  while (count < out.size() && !queue_.empty())
    if (send(now, out[count]))
      count++;
  if (pacing_)
    counts.slipped_ns = pacing_->slipped_ns();
  return count;
}

// Sends the next packet of the entry at the front. False: there was none.
bool Responder::State::send(uint64_t now, packet::Outgoing &out) {
  if (is_paused(now))
    return false;
  const QueueEntry entry = queue_.front();
  if (entry.kind == QueueEntry::Kind::Connection) {
    const bool reads = pacing_ && entry.connection->alive && entry.connection->reads_next();
    if (reads && must_wait(now, *entry.connection))
      return false;
    const bool sent = entry.connection->alive && entry.connection->has_responses();
    if (sent)
      send_response(*entry.connection, out);
    if (reads && options.pauses) // the time of a pause is not made up for
      pacing_->not_before(entry.connection->pace, options.pauses->until(priority_of(entry)));
    if (reads)
      pacing_->sent(entry.connection->pace, now, length_of(out));
    end_turn(entry.connection);
    return sent;
  }
  queue_.pop();
  queued_frames_--;
  if (entry.kind == QueueEntry::Kind::Cnp) {
    const packet::Fields fields{.dest_qp = entry.qp, .src_port = entry.port};
    send_template(*entry.path, {.opcode = ROCE_OPCODE_CNP}, fields, out);
  } else {
    send_raw(std::move(raws_.front()), out);
    raws_.pop();
  }
  return true;
}

// Moves the connection at the front to the end of the queue, or removes it, if its turn is over.
void Responder::State::end_turn(Connection *connection) {
  const bool more = connection->alive && connection->has_responses();
  if (more && ++turn_ < kTurn)
    return;
  turn_ = 0;
  queue_.pop();
  if (more) {
    queue_.push({.kind = QueueEntry::Kind::Connection, .connection = connection});
    return;
  }
  connection->queued = false;
  if (!connection->alive)
    free_.push_back(connection);
}

void Responder::State::send_response(Connection &connection, packet::Outgoing &out) {
  const ResponsePacket response = connection.next_packet(counts_of(connection));
  const packet::Fields fields{.dest_qp = connection.peer_qp(),
                              .psn = response.psn,
                              .src_port = connection.port(),
                              .aeth = response.aeth};
  if (response.original)
    send_atomic(*connection.path, response, fields, out);
  else if (options.memory && response.payload)
    send_memory(*connection.path, response, fields, out);
  else
    send_template(*connection.path, response, fields, out);
}

void Responder::State::send_template(PeerPath &path, const ResponsePacket &response,
                                     const packet::Fields &fields, packet::Outgoing &out) {
  if (const packet::Template *shape =
          path.template_for(response.opcode, response.payload, response.kind))
    out = {.shape = shape, .fields = fields};
  else
    send_raw(path.build(response.opcode, packet::counting_payload(response.payload), fields, 0,
                        response.kind),
             out);
}

// A READ response with what the memory has now.
void Responder::State::send_memory(PeerPath &path, const ResponsePacket &response,
                                   const packet::Fields &fields, packet::Outgoing &out) {
  if (read_data_used_ == read_data_.size())
    read_data_.push_back(std::make_unique<std::array<uint8_t, kLongestPayload>>());
  const std::span<uint8_t> data(read_data_[read_data_used_++]->data(), response.payload);
  options.memory->read(response.va, data);
  if (const packet::Template *shape = path.template_for(response.opcode, response.payload))
    out = {.shape = shape, .fields = fields, .payload = data};
  else
    send_raw(path.build(response.opcode, data, fields, 0), out);
}

// Not a template: templates have no field for the original value.
void Responder::State::send_atomic(PeerPath &path, const ResponsePacket &response,
                                   const packet::Fields &fields, packet::Outgoing &out) {
  send_raw(path.build(response.opcode, {}, fields, response.original), out);
}

void Responder::State::send_raw(std::vector<uint8_t> raw, packet::Outgoing &out) {
  sent_raw_.push_back(std::move(raw));
  // Moving the vector's elements does not move their bytes.
  out = {.fields = {}, .raw = sent_raw_.back()};
}

} // namespace xr::responder
