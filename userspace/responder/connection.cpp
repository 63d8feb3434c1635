// SPDX-License-Identifier: Apache-2.0
#include "responder/connection.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace xr::responder {
namespace {

constexpr uint8_t kSequence = 0x60, kInvalid = 0x61; // IBA vol. 1, 9.7.5.2.1
constexpr uint8_t kRnr = 0x20;
constexpr uint32_t kLongestMessage = 1U << 31; // 9.7.2
constexpr int32_t kHalfSpace = 1 << 23;
// A sender that was started anew draws another PSN: nobody has so many outstanding.
constexpr int32_t kFar = 65536;

uint64_t properties(const roce_packet &packet) { return roce_opcode_properties[packet.opcode]; }

bool starts(uint32_t info) {
  return (info & ROCE_OP_KNOWN) && !(info & (ROCE_OP_MIDDLE | ROCE_OP_LAST));
}

uint32_t psns_of(const roce_packet &packet, uint32_t pmtu) {
  if (!(packet.info & ROCE_OP_READ_REQUEST) || !packet.dma_len)
    return 1;
  return (packet.dma_len - 1) / pmtu + 1;
}

} // namespace

void Connection::receive(const uint8_t *bth, const roce_packet &packet,
                         const ResponderOptions &options, RespondCounts &counts) {
  const Context c{bth, packet, options, counts, psns_of(packet, pmtu_)};
  if (transport_ == ROCE_UC)
    return unreliable(c);
  int32_t distance = known_ ? roce_psn_diff(packet.psn, expected_) : 0;
  if (!known_ || is_new_life(c, distance)) {
    // What comes in the midst of a message is no place to begin: its start may be late only.
    if (!starts(packet.info)) {
      counts.out_of_order++;
      return;
    }
    adopt(packet.psn);
    counts.qps++;
    distance = 0;
  }
  if (answers_.size() >= kAnswers) {
    counts.answers_dropped++;
    return;
  }
  if (distance < 0)
    duplicate(c);
  else if (distance > 0)
    ahead(c);
  else
    in_order(c);
}

bool Connection::is_new_life(const Context &c, int32_t distance) const {
  if (std::abs(distance) <= kFar || !starts(c.packet.info))
    return false;
  // The rest of a long READ is asked for from far behind.
  const uint32_t into = (c.packet.psn - read_first_) & ROCE_PSN_MASK;
  return !((c.packet.info & ROCE_OP_READ_REQUEST) && into < read_psns_);
}

void Connection::adopt(uint32_t psn) {
  expect(psn);
  adopted_ = true;
  begun_at_ = psn;
  inside_ = Inside::Nothing;
  nak_ = invalid_ = rnr_done_ = false;
  msn_ = since_ack_ = read_psns_ = 0;
  begun_ = message_bytes_ = 0;
  answers_.clear();
  atomics_.clear();
}

// A gap is reported once (9.7.4.1.2, 9.7.5.2.2).
void Connection::ahead(const Context &c) {
  c.counts.out_of_order++;
  if (nak_)
    return;
  nak_ = true;
  invalid_ = false;
  answers_.push({.kind = Kind::Nak, .psn = expected_, .aeth = uint32_t{kSequence} << 24 | msn_});
}

void Connection::duplicate(const Context &c) {
  c.counts.duplicates++;
  if (c.packet.info & ROCE_OP_READ_REQUEST)
    replay_read(c);
  else if (c.packet.info & ROCE_OP_ATOMIC)
    replay_atomic(c);
  else if (properties(c.packet) & ROCE_READ_ANSWERED_OPS)
    answers_.push({.kind = Kind::Empty, .psn = c.packet.psn, .aeth = positive()});
  else if (c.packet.ack_req && c.packet.info)
    acknowledge(c, roce_psn_add(expected_, ROCE_PSN_MASK));
}

void Connection::replay_read(const Context &c) {
  const uint32_t end = roce_psn_add(c.packet.psn, c.psns);
  if (c.packet.dma_len > kLongestMessage || roce_psn_diff(end, expected_) > 0)
    return;
  // What is about to be sent anyway is not sent twice.
  for (size_t i = 0; i < answers_.size(); i++) {
    const Answer &answer = answers_[i];
    if (answer.kind == Kind::Read && roce_psn_diff(c.packet.psn, answer.psn) >= 0 &&
        !answer.begun && roce_psn_add(answer.psn, answer.packets) == end)
      return;
  }
  owe_read(c.packet.psn, c.packet.dma_len, c.psns);
}

void Connection::replay_atomic(const Context &c) {
  for (size_t i = atomics_.size(); i-- > 0;)
    if (atomics_[i].psn == c.packet.psn) {
      answers_.push({.kind = Kind::Atomic,
                     .psn = c.packet.psn,
                     .aeth = positive(),
                     .value = atomics_[i].original});
      return;
    }
  // From before the first that arrived here: it has never been executed.
  if (adopted_ && roce_psn_diff(c.packet.psn, begun_at_) < 0)
    answers_.push(
        {.kind = Kind::Atomic, .psn = c.packet.psn, .aeth = positive(), .value = atomic(c)});
}

void Connection::in_order(const Context &c) {
  if (!is_legal(c)) {
    if (!(nak_ && invalid_))
      refuse(c, kInvalid);
    return;
  }
  if (is_refused(c))
    return;
  if (nak_)
    settle_nak();
  c.counts.in_order++;
  expected_ = roce_psn_add(c.packet.psn, c.psns);
  framing(c);
  execute(c);
}

// 9.7.4.1.5, and what a length may be.
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

// Receiver not ready, on purpose.
bool Connection::is_refused(const Context &c) {
  const uint64_t every = c.options.rnr_every;
  if (!every || !starts(c.packet.info) || rnr_done_ || (begun_ + 1) % every)
    return false;
  rnr_done_ = true;
  refuse(c, static_cast<uint8_t>(kRnr | (c.options.rnr_timer & 31)));
  return true;
}

void Connection::refuse(const Context &c, uint8_t syndrome) {
  if (nak_)
    settle_nak();
  nak_ = true;
  invalid_ = syndrome == kInvalid;
  if (invalid_)
    c.counts.invalid++;
  answers_.push({.kind = Kind::Nak, .psn = expected_, .aeth = uint32_t{syndrome} << 24 | msn_});
}

// The PSN asked for came: if the NAK has not left yet, nobody is to see it.
void Connection::settle_nak() {
  nak_ = invalid_ = false;
  if (!answers_.empty() && answers_.back().kind == Kind::Nak)
    answers_.pop_back();
}

// FIRST, MIDDLE, LAST: what the next packet may be, and the PMTU.
void Connection::framing(const Context &c) {
  const uint32_t info = c.packet.info;
  if (starts(info)) {
    begun_++;
    rnr_done_ = false;
    message_bytes_ = 0;
  }
  message_bytes_ += c.packet.payload;
  if (info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE)) {
    inside_ = properties(c.packet) & ROCE_OP_SEND ? Inside::Send : Inside::Write;
    if (c.packet.payload >= 256 && c.packet.payload <= 4096)
      pmtu_ = c.packet.payload;
  }
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
    owe_read(c.packet.psn, c.packet.dma_len, c.psns);
  } else if (c.packet.info & ROCE_OP_ATOMIC) {
    answers_.push(
        {.kind = Kind::Atomic, .psn = c.packet.psn, .aeth = positive(), .value = atomic(c)});
    since_ack_ = 0;
  } else if (properties(c.packet) & ROCE_READ_ANSWERED_OPS) {
    answers_.push({.kind = Kind::Empty, .psn = c.packet.psn, .aeth = positive()});
    since_ack_ = 0;
  } else if (c.packet.ack_req || (c.options.ack_every && since_ack_ >= c.options.ack_every)) {
    acknowledge(c, c.packet.psn);
  }
}

// The newest says all that an older one says, which is still waiting (9.7.5.1.2): before answers
// are left out for want of room, at the latest.
void Connection::acknowledge(const Context &c, uint32_t psn) {
  since_ack_ = 0;
  const bool merge = c.options.merge_acks || answers_.size() >= kAnswers / 2;
  if (merge && !answers_.empty() && answers_.back().kind == Kind::Ack) {
    answers_.back().psn = psn;
    answers_.back().aeth = positive();
    return;
  }
  answers_.push({.kind = Kind::Ack, .psn = psn, .aeth = positive()});
}

void Connection::owe_read(uint32_t psn, uint32_t length, uint32_t packets) {
  since_ack_ = 0;
  answers_.push({.kind = Kind::Read,
                 .psn = psn,
                 .aeth = positive(),
                 .pmtu = pmtu_,
                 .packets = packets,
                 .value = length});
}

// All addresses are one word of the QP's.
uint64_t Connection::atomic(const Context &c) {
  const uint8_t *operands = c.bth + ROCE_BTH_LEN + (transport_ == ROCE_XRC ? 4 : 0) + 12;
  const uint64_t original = word_, operand = roce_be64(operands), compare = roce_be64(operands + 8);
  if ((c.packet.opcode & ~ROCE_TRANSPORT_MASK) == ROCE_RC_FETCH_ADD)
    word_ += operand;
  else if (word_ == compare)
    word_ = operand;
  if (atomics_.size() == kAtomics)
    atomics_.pop();
  atomics_.push({c.packet.psn, original});
  return original;
}

// UC: a gap ends the message in work, the next FIRST or ONLY begins anew (9.8.2.2).
void Connection::unreliable(const Context &c) {
  const roce_packet &packet = c.packet;
  const bool next = known_ && packet.psn == expected_;
  if (!known_)
    c.counts.qps++;
  if (known_ && !next)
    c.counts.out_of_order++;
  else
    c.counts.in_order++;
  c.counts.unreliable++;
  expect(roce_psn_add(packet.psn, 1));
  if (!next || starts(packet.info))
    inside_ = Inside::Nothing;
  if (!(packet.info & ROCE_OP_REQUEST) || !is_legal(c)) {
    c.counts.uc_dropped++;
    inside_ = Inside::Nothing;
    return;
  }
  framing(c);
}

uint8_t Connection::read_opcode(const Answer &answer) const {
  const bool last = answer.packets == 1;
  if (!answer.begun)
    return last ? ROCE_RC_RDMA_READ_RESPONSE_ONLY : ROCE_RC_RDMA_READ_RESPONSE_FIRST;
  return last ? ROCE_RC_RDMA_READ_RESPONSE_LAST : ROCE_RC_RDMA_READ_RESPONSE_MIDDLE;
}

AnswerPacket Connection::take(RespondCounts &counts) {
  Answer &answer = answers_.front();
  AnswerPacket out{.psn = answer.psn, .aeth = answer.aeth};
  uint8_t op = ROCE_RC_ACKNOWLEDGE;
  switch (answer.kind) {
  case Kind::Ack:
    counts.acks++;
    break;
  case Kind::Nak:
    (ROCE_SYNDROME_TYPE(answer.aeth >> 24) == ROCE_NAK ? counts.naks : counts.rnr_naks)++;
    break;
  case Kind::Atomic:
    counts.atomic_acks++;
    op = ROCE_RC_ATOMIC_ACKNOWLEDGE;
    out.original = answer.value;
    break;
  case Kind::Empty:
    counts.read_responses++;
    op = ROCE_RC_RDMA_READ_RESPONSE_ONLY;
    break;
  case Kind::Read:
    counts.read_responses++;
    op = read_opcode(answer);
    out.payload = static_cast<uint32_t>(std::min<uint64_t>(answer.pmtu, answer.value));
    answer.value -= out.payload;
    answer.psn = roce_psn_add(answer.psn, 1);
    answer.begun = true;
    answer.packets--;
    break;
  }
  out.opcode = op | transport_;
  if (answer.kind != Kind::Read || !answer.packets)
    answers_.pop();
  return out;
}

} // namespace xr::responder
