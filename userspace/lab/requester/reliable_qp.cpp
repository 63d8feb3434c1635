// SPDX-License-Identifier: Apache-2.0
#include "requester/reliable_qp.h"

#include <algorithm>

#include "base/draw.h"
#include "roce/parse.h"
#include "roce/rnr.h"

namespace xr::requester {
namespace {

using packet::Verb;

constexpr uint64_t kHalfSpace = 1 << 23;
constexpr uint8_t kNoRnrLimit = 7;
constexpr uint8_t kLastFatal = 4; // NAK codes 1 to 4 end a QP

} // namespace

bool ReliableQp::may_send(const ReliableContext &c) const {
  if (failed_ || waiting_)
    return false;
  if (!again_.empty())
    return true;
  if (send_ - oldest_ >= c.reliability.window || window_is_full(c.flow))
    return false;
  return send_ < end_ || may_begin(c);
}

// Payload of the message before the place.
uint64_t ReliableQp::bytes_before(uint64_t place, const Message &message,
                                  const flow::Flow &flow) const {
  return std::min(message.size, (place - message.first) * flow.pmtu);
}

uint64_t ReliableQp::acked_bytes(const flow::Flow &flow) const {
  return completed_bytes_ + (messages_.empty() || oldest_ < messages_.front().first
                                 ? 0
                                 : bytes_before(oldest_, messages_.front(), flow));
}

// A message begins when all before it was sent, so only the newest is sent in part.
uint64_t ReliableQp::sent_bytes(const flow::Flow &flow) const {
  if (messages_.empty() || high_ < messages_.back().first)
    return begun_bytes_;
  const Message &newest = messages_.back();
  return begun_bytes_ - newest.size + bytes_before(high_, newest, flow);
}

// After going back, what is sent again counts, not what it follows.
bool ReliableQp::window_is_full(const flow::Flow &flow) const {
  if (window_ == UINT64_MAX || send_ == oldest_)
    return false;
  const uint64_t all = sent_bytes(flow) - acked_bytes(flow);
  const uint64_t flying = send_ < high_ ? std::min(all, (send_ - oldest_) * flow.pmtu) : all;
  return flying >= window_;
}

// Other paths have other UDP source ports, as ECMP hashes them; 0 is the first one.
void ReliableQp::take_path(uint32_t path) {
  constexpr uint16_t kFirstPort = 0xc000, kPorts = 0x4000; // IBA annex A17.9.2
  source_port_ = path ? static_cast<uint16_t>(kFirstPort | draw(first_source_port_, path) % kPorts)
                      : first_source_port_;
}

bool ReliableQp::may_begin(const ReliableContext &c) const {
  if (!c.open || c.held || exhausted(c.flow))
    return false;
  const auto next = static_cast<uint32_t>(messages_.size());
  if (c.flow.posted && c.posted.all.size() <= next)
    return false;
  if (!c.is_answered(next))
    return true;
  const size_t answering = c.flow.posted ? c.posted.answering : messages_.size();
  if (answering >= std::min<size_t>(kAnswered, c.reliability.answered))
    return false;
  const uint64_t size =
      c.flow.posted ? c.posted.all[next].bytes : c.flow.size.of(begun_, c.flow.size_seed(index_));
  return messages_.empty() ||
         end_ + packet::psns_of(c.verb(next), size, c.flow.pmtu) - oldest_ <= kHalfSpace;
}

void ReliableQp::begin(uint64_t now, const ReliableContext &c) {
  const auto number = static_cast<uint32_t>(messages_.size());
  Message message;
  message.first = end_;
  message.size = c.flow.size.of(begun_++, c.flow.size_seed(index_));
  if (c.flow.posted) {
    message.size = c.posted.all[number].bytes;
    c.posted.answering += c.is_answered(number);
  }
  message.started = now;
  message.psns = packet::psns_of(c.verb(number), message.size, c.flow.pmtu);
  end_ = message.end();
  begun_bytes_ += message.size;
  messages_.push(message);
}

RequestPacket ReliableQp::packet_at(uint64_t place, uint32_t number,
                                    const ReliableContext &c) const {
  const Message &message = messages_[number];
  const auto index = static_cast<uint32_t>(place - message.first);
  const Verb verb = c.verb(number);
  RequestPacket out;
  out.psn = psn_at(place);
  out.place = place;
  out.offset = uint64_t{index} * c.flow.pmtu;
  out.message = begun_ - messages_.size() + number;
  out.va = c.flow.va_of(index_, out.message);
  if (c.flow.posted) {
    out.post = &c.posted.all[number];
    out.va = out.post->va;
  }
  if (verb == Verb::Read) { // a retry may request the rest of a READ (IBA vol. 1, 9.7.2.2.1)
    out.segment = packet::segment(c.flow.transport, verb, message.size, c.flow.pmtu, 0);
    out.va += out.offset;
    out.dma_len = static_cast<uint32_t>(message.size - out.offset);
  } else {
    out.segment = packet::segment(c.flow.transport, verb, message.size, c.flow.pmtu, index);
    out.dma_len = packet::dma_length(verb, message.size);
  }
  return out;
}

RequestPacket ReliableQp::send(uint64_t now, const ReliableContext &c) {
  if (!again_.empty())
    return send_again(now, c);
  if (send_ == end_)
    begin(now, c);
  RequestPacket out = packet_at(send_, cursor_, c);
  const Message &message = messages_[cursor_];
  const uint64_t next = c.verb(cursor_) == Verb::Read ? message.end() : send_ + 1;
  out.again = send_ < high_;
  unasked_++;
  const bool last = next == message.end();
  const bool resent = out.again;
  send_ = next;
  high_ = std::max(high_, send_);
  out.ack_req =
      c.acked && (last || next - oldest_ >= c.reliability.window ||
                  (c.flow.ack_every && unasked_ >= c.flow.ack_every) || window_is_full(c.flow));
  if (out.ack_req) {
    unasked_ = 0;
    if (!resent)
      samples_.push({out.place, now});
    if (asked_ <= oldest_)
      since_ = now;
    asked_ = next;
  }
  if (last)
    cursor_++;
  return out;
}

// Finds the place of a PSN that was sent and is not acknowledged.
bool ReliableQp::outstanding(uint32_t psn, uint64_t &place, const ReliableContext &c) const {
  const int32_t ahead = roce_psn_diff(psn, psn_at(oldest_));
  if (ahead < 0) {
    c.counts.duplicate_acks++;
    return false;
  }
  place = oldest_ + static_cast<uint64_t>(ahead);
  if (place >= high_)
    c.counts.stray++;
  return place < high_;
}

void ReliableQp::acknowledge(uint64_t now, uint8_t syndrome, uint32_t psn,
                             const ReliableContext &c) {
  const uint8_t type = ROCE_SYNDROME_TYPE(syndrome), value = ROCE_SYNDROME_VALUE(syndrome);
  SendCounts &counts = c.counts;
  if (type == ROCE_SYNDROME_RESERVED || (type == ROCE_NAK && value > kLastFatal)) {
    counts.stray++;
    return;
  }
  if (type == ROCE_NAK) {
    count_nak(counts, value);
    c.losses.naks += value == 0;
  } else {
    (type == ROCE_ACK ? counts.acks : counts.rnr_naks)++;
  }
  uint64_t place = 0;
  if (failed_ || !outstanding(psn, place, c))
    return;
  const uint64_t unanswered = this->unanswered(place, c);
  if (type == ROCE_ACK && unanswered <= place) {
    if (unanswered > oldest_)
      advance(now, unanswered, c);
    return answer_missing(c);
  }
  if (type == ROCE_ACK) {
    advance(now, place + 1, c);
    if (oldest_ < recovery_)
      again(oldest_, c);
    return;
  }
  // A NAK acknowledges all packets before its PSN (IBA vol. 1, 9.7.5.1.3).
  if (const uint64_t to = std::min(place, unanswered); to > oldest_)
    advance(now, to, c);
  if (type == ROCE_RNR_NAK)
    return not_ready(now, syndrome, place, c);
  if (value == 0)
    return refused(place, c);
  fail(c, syndrome);
}

// The first place up to this one that a response acknowledges, and no ACK; else the next place.
uint64_t ReliableQp::unanswered(uint64_t place, const ReliableContext &c) const {
  if (!c.flow.posted)
    return c.answered ? oldest_ : place + 1;
  if (c.posted.answering)
    for (uint32_t i = 0; i < messages_.size() && messages_[i].first <= place; i++)
      if (c.is_answered(i))
        return std::max(messages_[i].first, oldest_);
  return place + 1;
}

bool ReliableQp::response(uint64_t now, const roce_packet &packet, const ReliableContext &c) {
  (packet.info & ROCE_OP_READ_RESPONSE ? c.counts.read_responses : c.counts.acks)++;
  uint64_t place = 0;
  if (failed_ || !outstanding(packet.psn, place, c))
    return false;
  const uint32_t number = c.flow.posted ? message_of(place) : 0;
  const Verb verb = c.verb(number);
  const bool atomic = packet::verb_properties(verb) & ROCE_OP_ATOMIC;
  if (!c.is_answered(number) || atomic != !(packet.info & ROCE_OP_READ_RESPONSE)) {
    c.counts.stray++;
    return false;
  }
  // It acknowledges SENDs and WRITEs before it.
  if (const uint64_t to = c.flow.posted ? unanswered(place, c) : oldest_; to > oldest_)
    advance(now, to, c);
  if (place > oldest_ && !c.reliability.selective) {
    answer_missing(c);
    return false;
  }
  // Segmented with another PMTU: its PSNs differ from ours.
  if (packet.payload != answer_bytes(place, c)) {
    c.counts.stray++;
    return false;
  }
  const bool taken = place == oldest_ || later_answer(now, place, c);
  if (taken)
    c.counts.answer_bytes += verb == Verb::Read ? packet.payload : packet::moved_bytes(verb, 0);
  if (place == oldest_)
    advance(now, oldest_ + 1, c);
  return taken;
}

std::optional<ReliableQp::Answered> ReliableQp::answered_by(uint32_t psn,
                                                            const ReliableContext &c) const {
  const int32_t ahead = roce_psn_diff(psn, psn_at(oldest_));
  if (ahead < 0 || oldest_ + static_cast<uint64_t>(ahead) >= high_ || messages_.empty())
    return {};
  const uint64_t place = oldest_ + static_cast<uint64_t>(ahead);
  const uint32_t number = message_of(place);
  return Answered{begun_ - messages_.size() + number,
                  (place - messages_[number].first) * c.flow.pmtu,
                  c.flow.posted ? c.posted.all[number].into : nullptr};
}

// The payload of the answer with that PSN.
uint64_t ReliableQp::answer_bytes(uint64_t place, const ReliableContext &c) const {
  const uint32_t number = place == oldest_ ? 0 : message_of(place);
  if (c.verb(number) != Verb::Read)
    return 0;
  const Message &message = messages_[number];
  return std::min<uint64_t>(message.size - (place - message.first) * c.flow.pmtu, c.flow.pmtu);
}

void ReliableQp::advance(uint64_t now, uint64_t to, const ReliableContext &c) {
  oldest_ = answered_.empty() ? to : answered_.take_until(to);
  since_ = now;
  rounds_ = rnr_rounds_ = 0;
  asked_anew_ = false;
  drop_arrived();
  if (send_ < oldest_) { // the packets to retransmit have arrived
    send_ = oldest_;
    while (cursor_ < messages_.size() && messages_[cursor_].end() <= send_)
      cursor_++;
  }
  take_samples(now, oldest_, c);
  complete(now, c);
}

// The packets before `end` were answered now.
void ReliableQp::take_samples(uint64_t now, uint64_t end, const ReliableContext &c) {
  while (!samples_.empty() && samples_.front().place < end) {
    rtt_ = now - samples_.front().sent;
    if (c.reliability.times)
      c.counts.rtt_ns.add(rtt_);
    samples_.pop();
  }
}

void ReliableQp::complete(uint64_t now, const ReliableContext &c) {
  while (!messages_.empty() && messages_.front().end() <= oldest_) {
    const Message &message = messages_.front();
    c.counts.messages++;
    c.counts.message_bytes += packet::moved_bytes(c.verb(0), message.size);
    if (c.reliability.times)
      c.counts.completion_ns.add(now - message.started);
    completed_bytes_ += message.size;
    messages_.pop();
    cursor_--;
    if (c.flow.posted) {
      c.posted.answering -= c.is_answered(0);
      c.posted.all.pop();
    }
    if (c.reliability.completions)
      c.reliability.completions->completed(c.flow);
  }
}

// Retransmitted packets give no RTT sample (Karn's algorithm).
void ReliableQp::go_back(uint64_t to) {
  send_ = to;
  asked_ = std::min(asked_, to);
  unasked_ = 0;
  forget_samples(to);
  cursor_ = message_of(to);
}

// The index of the message that has the place.
uint32_t ReliableQp::message_of(uint64_t place) const {
  size_t low = 0, high = messages_.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (messages_[middle].end() <= place)
      low = middle + 1;
    else
      high = middle;
  }
  return static_cast<uint32_t>(low);
}

void ReliableQp::forget_samples(uint64_t from) {
  while (!samples_.empty() && samples_.back().place >= from)
    samples_.pop_back();
}

// Counts a retry; false: the QP has failed.
bool ReliableQp::another_round(const ReliableContext &c) {
  if (++rounds_ <= c.reliability.retries)
    return true;
  fail(c);
  return false;
}

void ReliableQp::refused(uint64_t place, const ReliableContext &c) {
  if (send_ <= place || is_queued(place)) // the packet will be retransmitted anyway
    return;
  // While responses are outstanding, a NAK for a later request is progress too.
  const bool further = place > oldest_ && place > refused_;
  refused_ = std::max(refused_, place);
  if (further || another_round(c))
    retransmit(place, c);
}

void ReliableQp::retransmit(uint64_t place, const ReliableContext &c) {
  if (c.reliability.selective)
    again(place, c);
  else
    go_back(place);
}

void ReliableQp::not_ready(uint64_t now, uint8_t syndrome, uint64_t place,
                           const ReliableContext &c) {
  if (waiting_ && (send_ <= place || is_queued(place))) // a copy of the NAK
    return;
  if (c.reliability.rnr_retries != kNoRnrLimit && ++rnr_rounds_ > c.reliability.rnr_retries)
    return fail(c);
  rnr_until_ = now + uint64_t{roce_rnr_us(syndrome)} * 1000;
  waiting_ = true;
  retransmit(place, c);
}

// A later request was answered, so this answer is lost (IBA vol. 1, 9.7.5.1.2). It is requested
// again once; after that only the timer retries.
void ReliableQp::answer_missing(const ReliableContext &c) {
  if (asked_anew_ || send_ == oldest_ || is_queued(oldest_) || !another_round(c))
    return;
  asked_anew_ = true;
  retransmit(oldest_, c);
}

uint64_t ReliableQp::timer(const ReliableContext &c) const {
  if (failed_)
    return kNever;
  if (waiting_)
    return rnr_until_;
  return asked_ > oldest_ && c.timeout_ns ? since_ + c.timeout_ns : kNever;
}

void ReliableQp::expire(uint64_t now, const ReliableContext &c) {
  if (waiting_) {
    waiting_ = false;
    since_ = now;
    return;
  }
  c.counts.timeouts++;
  c.losses.timeouts++;
  if (!another_round(c))
    return;
  asked_anew_ = true;
  if (c.reliability.selective)
    again_after_timeout(now, c);
  else
    go_back(oldest_);
}

void ReliableQp::fail(const ReliableContext &c, uint8_t syndrome) {
  if (failed_)
    return;
  failed_ = true;
  c.counts.failed_qps++;
  c.counts.failed_messages += messages_.size();
  c.losses.failed_messages += messages_.size();
  messages_.clear();
  samples_.clear();
  again_.clear();
  answered_.clear();
  send_ = end_;
  cursor_ = 0;
  c.posted.all.clear();
  c.posted.answering = 0;
  if (c.reliability.completions)
    c.reliability.completions->failed(c.flow, syndrome);
}

} // namespace xr::requester
