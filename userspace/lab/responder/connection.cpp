// SPDX-License-Identifier: Apache-2.0
#include "responder/connection.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace xr::responder {
namespace {

constexpr uint8_t kSequence = 0x60; // IBA vol. 1, 9.7.5.2.1
constexpr uint8_t kRnr = 0x20;
uint8_t rnr_syndrome(const ResponderOptions &options) {
  return static_cast<uint8_t>(kRnr | (options.rnr_timer & 31));
}
constexpr uint32_t kLongestMessage = 1U << 31; // 9.7.2
constexpr int32_t kHalfSpace = 1 << 23;
// A larger PSN distance means that the sender restarted with a new PSN: no requester has so many
// PSNs outstanding, unless ResponderOptions::most_kept says so.
constexpr int32_t kFar = 65536;
constexpr uint32_t kMostPassedOver = 256;

const uint8_t *payload_of(const uint8_t *bth, const roce_packet &packet) {
  return bth - packet.bth + packet.end - ROCE_ICRC_LEN - packet.pad - packet.payload;
}

bool starts(uint32_t info) {
  return (info & ROCE_OP_KNOWN) && !(info & (ROCE_OP_MIDDLE | ROCE_OP_LAST));
}

} // namespace

uint32_t Connection::psns_of(const roce_packet &packet) const {
  if (!(packet.info & ROCE_OP_READ_REQUEST) || !packet.dma_len)
    return 1;
  return (packet.dma_len - 1) / pmtu_ + 1;
}

void Connection::receive(const uint8_t *bth, const roce_packet &packet,
                         const ResponderOptions &options, RespondCounts &counts,
                         KeptRoom &kept_room) {
  const uint8_t *payload = options.memory || options.receiver ? payload_of(bth, packet) : nullptr;
  const Context c{bth, payload, packet, options, counts, kept_room, psns_of(packet)};
  if (transport_ == ROCE_UC)
    return unreliable(c);
  marked_ |= options.echo_ce && packet.ecn == ROCE_ECN_CE;
  if (!has_expected_ && options.first_psn)
    if (const std::optional<uint32_t> psn = options.first_psn(roce_key_qp(&packet.key))) {
      start_at(*psn, kept_room);
      counts.qps++;
    }
  int32_t distance = has_expected_ ? roce_psn_diff(packet.psn, expected_) : 0;
  if (!has_expected_ || is_qpn_reused(c, distance)) {
    if (!may_start(c)) {
      counts.out_of_order++;
      return;
    }
    start_at(packet.psn, kept_room);
    counts.qps++;
    distance = 0;
  }
  if (in_error_) {
    counts.dropped_in_error++;
    return;
  }
  if (responses_.size() >= kMaxResponses) {
    counts.answers_dropped++;
    return;
  }
  if (distance < 0)
    duplicate(c);
  else if (distance > 0)
    ahead(c);
  else if (in_order(c) && !kept_.empty())
    take_kept(c);
}

bool Connection::is_qpn_reused(const Context &c, int32_t distance) const {
  if (std::abs(distance) <= std::max(kFar, static_cast<int32_t>(c.options.most_kept)))
    return false;
  // A request for the rest of a long READ may have a PSN far below expected_.
  const uint32_t into = (c.packet.psn - read_first_) & ROCE_PSN_MASK;
  return !((c.packet.info & ROCE_OP_READ_REQUEST) && into < read_psns_);
}

// Where a message begins, and not after one whose first packet is missing: an acknowledgement of
// the later message would acknowledge that one too. A NAK asks for what is missing, one packet
// further back each time. Senders that do not send again continue, and are followed from there.
bool Connection::may_start(const Context &c) {
  const int32_t after = start_missing_ ? roce_psn_diff(c.packet.psn, start_wanted_) : 0;
  const bool near = start_missing_ && std::abs(after) <= kFar;
  if (starts(c.packet.info))
    return !near || after <= 0 || ++passed_over_ > kMostPassedOver;
  if ((!near || after <= 0) && responses_.size() < kMaxResponses) {
    start_missing_ = true;
    start_wanted_ = roce_psn_add(c.packet.psn, ROCE_PSN_MASK);
    passed_over_ = 0;
    responses_.push({.kind = Kind::Nak, .psn = start_wanted_, .aeth = uint32_t{kSequence} << 24});
  }
  return false;
}

void Connection::start_at(uint32_t psn, KeptRoom &kept_room) {
  expect(psn);
  forget_kept(kept_room);
  started_here_ = true;
  start_missing_ = false;
  start_psn_ = psn;
  inside_ = Inside::Nothing;
  nak_ = invalid_ = rnr_done_ = in_error_ = false;
  msn_ = since_ack_ = read_psns_ = 0;
  messages_begun_ = message_bytes_ = 0;
  responses_.clear();
  atomics_.clear();
}

// A NAK is sent once per gap (9.7.4.1.2, 9.7.5.2.2).
void Connection::ahead(const Context &c) {
  c.counts.out_of_order++;
  if (c.options.selective)
    keep(c);
  if (!nak_ && !c.options.reorder)
    ask_for_expected();
}

void Connection::ask_for_expected() {
  nak_ = true;
  invalid_ = false;
  responses_.push({.kind = Kind::Nak, .psn = expected_, .aeth = uint32_t{kSequence} << 24 | msn_});
}

void Connection::duplicate(const Context &c) {
  c.counts.duplicates++;
  if (c.packet.info & ROCE_OP_READ_REQUEST)
    replay_read(c);
  else if (c.packet.info & ROCE_OP_ATOMIC)
    replay_atomic(c);
  else if (properties(c.packet) & ROCE_READ_ANSWERED_OPS)
    responses_.push({.kind = Kind::Empty, .psn = c.packet.psn, .aeth = positive()});
  else if (c.packet.ack_req && c.packet.info)
    acknowledge(c, roce_psn_add(expected_, ROCE_PSN_MASK));
}

void Connection::replay_read(const Context &c) {
  const uint32_t end = roce_psn_add(c.packet.psn, c.psns);
  uint64_t va = 0;
  if (c.packet.dma_len > kLongestMessage || roce_psn_diff(end, expected_) > 0 ||
      !may_read_again(c, va))
    return;
  // Do not queue a READ response again that is still queued.
  for (size_t i = 0; i < responses_.size(); i++) {
    const Response &response = responses_[i];
    if (response.kind == Kind::Read && roce_psn_diff(c.packet.psn, response.psn) >= 0 &&
        !response.begun && roce_psn_add(response.psn, response.packets) == end)
      return;
  }
  queue_read(c.packet.psn, c.packet.dma_len, c.psns, va);
}

void Connection::replay_atomic(const Context &c) {
  for (size_t i = atomics_.size(); i-- > 0;)
    if (atomics_[i].psn == c.packet.psn) {
      responses_.push({.kind = Kind::Atomic,
                       .psn = c.packet.psn,
                       .aeth = positive(),
                       .value = atomics_[i].original});
      return;
    }
  // A PSN before the first that arrived here was never executed.
  if (started_here_ && roce_psn_diff(c.packet.psn, start_psn_) < 0 &&
      !(c.options.memory && access_memory(c)))
    responses_.push(
        {.kind = Kind::Atomic, .psn = c.packet.psn, .aeth = positive(), .value = atomic(c)});
}

// False: the request was refused.
bool Connection::in_order(const Context &c) {
  if (!is_legal(c)) {
    if (!(nak_ && invalid_))
      refuse(c, kInvalidRequest);
    return false;
  }
  if (refuse_rnr(c))
    return false;
  if (c.options.receiver && !has_receive(c)) {
    refuse(c, rnr_syndrome(c.options));
    return false;
  }
  if (const uint8_t syndrome = c.options.memory ? access_memory(c) : 0) {
    refuse(c, syndrome);
    if (syndrome != kInvalidRequest)
      enter_error(c);
    return false;
  }
  if (nak_)
    withdraw_nak();
  c.counts.in_order++;
  expected_ = roce_psn_add(c.packet.psn, c.psns);
  framing(c);
  execute(c);
  return true;
}

// Checks the opcode sequence (9.7.4.1.5) and the lengths.
bool Connection::is_legal(const Context &c) const {
  const roce_packet &packet = c.packet;
  if (!(packet.info & ROCE_OP_REQUEST))
    return false;
  if (properties(packet) & ROCE_OP_ATOMIC_WRITE && packet.payload != 8)
    return false;
  if ((packet.info & ROCE_OP_READ_REQUEST) &&
      (packet.dma_len > kLongestMessage || c.psns > static_cast<uint32_t>(kHalfSpace)))
    return false;
  if (starts(packet.info))
    return inside_ == Inside::Nothing;
  return inside_ == (properties(packet) & ROCE_OP_SEND ? Inside::Send : Inside::Write);
}

// Sends an RNR NAK on purpose, see ResponderOptions::rnr_every.
bool Connection::refuse_rnr(const Context &c) {
  const uint64_t every = c.options.rnr_every;
  if (!every || !starts(c.packet.info) || rnr_done_ || (messages_begun_ + 1) % every)
    return false;
  rnr_done_ = true;
  refuse(c, rnr_syndrome(c.options));
  return true;
}

// A SEND takes a receive with its first packet, a WRITE with immediate data with its last.
bool Connection::has_receive(const Context &c) {
  const bool send = properties(c.packet) & ROCE_OP_SEND;
  const bool takes = send ? starts(c.packet.info) : (properties(c.packet) & ROCE_HAS_IMMDT) != 0;
  return !takes || c.options.receiver->take_receive(key.number & ROCE_PSN_MASK);
}

// Passes a request that was executed to the program above.
void Connection::report(const Context &c) {
  const roce_packet &packet = c.packet;
  const uint32_t qp = key.number & ROCE_PSN_MASK;
  const bool send = properties(packet) & ROCE_OP_SEND;
  const uint8_t *payload = payload_of(c.bth, packet);
  if (send)
    c.options.receiver->payload(qp, message_bytes_ - packet.payload, {payload, packet.payload});
  if (!(packet.info & ROCE_OP_ENDS_MESSAGE))
    return;
  Arrived message;
  message.qp = qp;
  message.transport = transport_;
  message.send = send;
  message.bytes = message_bytes_;
  message.write = properties(packet) & ROCE_OP_WRITE;
  message.read = packet.info & ROCE_OP_READ_REQUEST;
  message.va = message.write ? write_va_ - message_bytes_ : request_va_;
  if (message.read)
    message.bytes = packet.dma_len;
  if (properties(packet) & ROCE_HAS_IMMDT)
    message.immediate = roce_be32(payload - 4);
  c.options.receiver->arrived(message);
}

void Connection::refuse(const Context &c, uint8_t syndrome) {
  if (nak_)
    withdraw_nak();
  nak_ = true;
  invalid_ = syndrome == kInvalidRequest;
  if (invalid_)
    c.counts.invalid++;
  responses_.push({.kind = Kind::Nak, .psn = expected_, .aeth = uint32_t{syndrome} << 24 | msn_});
}

// The expected PSN arrived: removes the NAK if it has not been sent yet.
void Connection::withdraw_nak() {
  nak_ = invalid_ = false;
  if (!responses_.empty() && responses_.back().kind == Kind::Nak)
    responses_.pop_back();
}

// Tracks FIRST, MIDDLE and LAST: what packet may follow, and the PMTU.
void Connection::framing(const Context &c) {
  const uint32_t info = c.packet.info;
  if (starts(info)) {
    messages_begun_++;
    rnr_done_ = false;
    message_bytes_ = 0;
  }
  message_bytes_ += c.packet.payload;
  if (info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE)) {
    inside_ = properties(c.packet) & ROCE_OP_SEND ? Inside::Send : Inside::Write;
    if (c.packet.payload >= 256 && c.packet.payload <= 4096)
      pmtu_ = c.packet.payload;
  }
  if (c.options.receiver)
    report(c);
  if (!(info & ROCE_OP_ENDS_MESSAGE))
    return;
  inside_ = Inside::Nothing;
  msn_ = roce_psn_add(msn_, 1);
  if (info & (ROCE_OP_LAST | ROCE_OP_ONLY)) {
    c.counts.messages++;
    c.counts.message_bytes += message_bytes_;
  }
}

void Connection::execute(const Context &c) {
  since_ack_++;
  if (c.packet.info & ROCE_OP_READ_REQUEST) {
    read_first_ = c.packet.psn;
    read_psns_ = c.psns;
    queue_read(c.packet.psn, c.packet.dma_len, c.psns, request_va_);
  } else if (c.packet.info & ROCE_OP_ATOMIC) {
    responses_.push(
        {.kind = Kind::Atomic, .psn = c.packet.psn, .aeth = positive(), .value = atomic(c)});
    since_ack_ = 0;
  } else if (properties(c.packet) & ROCE_READ_ANSWERED_OPS) {
    responses_.push({.kind = Kind::Empty, .psn = c.packet.psn, .aeth = positive()});
    since_ack_ = 0;
  } else if (c.packet.ack_req || (c.options.ack_every && since_ack_ >= c.options.ack_every)) {
    acknowledge(c, c.packet.psn);
  }
}

// An ACK includes all earlier ones, so it may replace the queued one (9.7.5.1.2). ACKs are also
// merged before the response queue gets full.
void Connection::acknowledge(const Context &c, uint32_t psn) {
  since_ack_ = 0;
  const bool merge = c.options.merge_acks || filling_ || responses_.size() >= kMaxResponses / 2;
  if (merge && !responses_.empty() && responses_.back().kind == Kind::Ack) {
    responses_.back().psn = psn;
    responses_.back().aeth = positive();
    responses_.back().echo |= std::exchange(marked_, false);
    return;
  }
  responses_.push(
      {.kind = Kind::Ack, .psn = psn, .aeth = positive(), .echo = std::exchange(marked_, false)});
}

void Connection::queue_read(uint32_t psn, uint32_t length, uint32_t packets, uint64_t va) {
  since_ack_ = 0;
  responses_.push({.kind = Kind::Read,
                   .psn = psn,
                   .aeth = positive(),
                   .pmtu = pmtu_,
                   .packets = packets,
                   .value = length,
                   .va = va});
}

// UC: a gap ends the current message; the next FIRST or ONLY starts a new one (9.8.2.2).
void Connection::unreliable(const Context &c) {
  const roce_packet &packet = c.packet;
  const bool next = has_expected_ && packet.psn == expected_;
  if (!has_expected_)
    c.counts.qps++;
  if (has_expected_ && !next)
    c.counts.out_of_order++;
  else
    c.counts.in_order++;
  c.counts.unreliable++;
  expect(roce_psn_add(packet.psn, 1));
  if (!next || starts(packet.info))
    inside_ = Inside::Nothing;
  if (!(packet.info & ROCE_OP_REQUEST) || !is_legal(c) || (c.options.receiver && !has_receive(c)) ||
      (c.options.memory && access_memory(c))) {
    c.counts.uc_dropped++;
    inside_ = Inside::Nothing;
    return;
  }
  framing(c);
}

uint8_t Connection::read_opcode(const Response &response) const {
  const bool last = response.packets == 1;
  if (!response.begun)
    return last ? ROCE_RC_RDMA_READ_RESPONSE_ONLY : ROCE_RC_RDMA_READ_RESPONSE_FIRST;
  return last ? ROCE_RC_RDMA_READ_RESPONSE_LAST : ROCE_RC_RDMA_READ_RESPONSE_MIDDLE;
}

ResponsePacket Connection::next_packet(RespondCounts &counts) {
  Response &response = responses_.front();
  ResponsePacket out{.psn = response.psn, .aeth = response.aeth};
  uint8_t op = ROCE_RC_ACKNOWLEDGE;
  switch (response.kind) {
  case Kind::Ack:
    counts.acks++;
    out.kind.echo = response.echo;
    break;
  case Kind::Nak:
    (ROCE_SYNDROME_TYPE(response.aeth >> 24) == ROCE_NAK ? counts.naks : counts.rnr_naks)++;
    out.kind.nak = true;
    break;
  case Kind::Atomic:
    counts.atomic_acks++;
    op = ROCE_RC_ATOMIC_ACKNOWLEDGE;
    out.original = response.value;
    break;
  case Kind::Empty:
    counts.read_responses++;
    op = ROCE_RC_RDMA_READ_RESPONSE_ONLY;
    break;
  case Kind::Read:
    counts.read_responses++;
    op = read_opcode(response);
    out.payload = static_cast<uint32_t>(std::min<uint64_t>(response.pmtu, response.value));
    out.va = response.va;
    response.va += out.payload;
    response.value -= out.payload;
    response.psn = roce_psn_add(response.psn, 1);
    response.begun = true;
    response.packets--;
    break;
  }
  out.opcode = op | transport_;
  if (response.kind != Kind::Read || !response.packets)
    responses_.pop();
  return out;
}

} // namespace xr::responder
