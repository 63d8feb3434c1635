// SPDX-License-Identifier: Apache-2.0
// One QP of the reliable requester: its outstanding messages and its next packet. A place is the
// number of PSNs since the first one; it does not wrap.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/ring.h"
#include "flow/flow.h"
#include "requester/place_set.h"
#include "requester/reliable.h"

namespace xr::requester {

// Whether the answer is more than an ACK.
inline bool is_answered(packet::Verb verb) {
  return packet::verb_properties(verb) &
         (ROCE_OP_READ_REQUEST | ROCE_OP_ATOMIC | ROCE_READ_ANSWERED_OPS);
}

// Messages of a flow that are posted: those outstanding, then those that have not begun.
struct PostedMessages {
  Ring<Post> all;
  uint32_t answering = 0; // outstanding, and a response completes them
};

// State shared by the QPs of a flow.
struct ReliableContext {
  const flow::Flow &flow;
  const Reliability &reliability;
  SendCounts &counts;
  FlowLosses &losses; // of the flow
  PostedMessages &posted;
  bool answered = false; // requests complete with a response, not with an ACK (READ, atomics)
  bool acked = true;     // a responder acknowledges; else what was sent is complete
  bool open = true;      // new messages may begin
  bool held = false;     // not now
  uint64_t timeout_ns = 0;

  packet::Verb verb(uint32_t number) const {
    return flow.posted ? posted.all[number].verb : flow.verb;
  }
  // The outstanding message with that number needs a response.
  bool is_answered(uint32_t number) const {
    return flow.posted ? requester::is_answered(posted.all[number].verb) : answered;
  }
};

// A request packet before its frame is made.
struct RequestPacket {
  packet::Segment segment;
  uint32_t psn = 0, dma_len = 0;
  uint64_t va = 0;
  uint64_t message = 0; // number in the QP, from 0
  uint64_t place = 0;   // PSNs of the QP before it
  uint64_t offset = 0;  // of its payload in the message
  bool ack_req = false;
  bool again = false;         // retransmitted
  const Post *post = nullptr; // of flow.posted
};

class ReliableQp {
public:
  // Limit of outstanding READs and atomics: responders keep this many results.
  static constexpr size_t kAnswered = 16;

  explicit ReliableQp(uint32_t index, const flow::Flow &flow)
      : begun_(flow.first_message(index)), first_psn_(flow.first_psn(index)), index_(index),
        source_port_(flow.source_port(index)), first_source_port_(source_port_) {}

  bool may_send(const ReliableContext &context) const;
  RequestPacket send(uint64_t now, const ReliableContext &context);
  // Without acknowledgements: what was sent is complete.
  void complete_sent(uint64_t now, const ReliableContext &context) { advance(now, send_, context); }

  void acknowledge(uint64_t now, uint8_t syndrome, uint32_t psn, const ReliableContext &context);
  // Handles a READ response or atomic ACK. True: it is an answer that was missing.
  bool response(uint64_t now, const roce_packet &packet, const ReliableContext &context);
  // The message and the offset in it that the READ response with this PSN answers, if one is
  // outstanding.
  struct Answered {
    uint64_t message, offset;
    uint8_t *into; // of flow.posted: Post
  };
  std::optional<Answered> answered_by(uint32_t psn, const ReliableContext &context) const;
  // Handles the expiry of timer().
  void expire(uint64_t now, const ReliableContext &context);
  uint64_t timer(const ReliableContext &context) const;
  void fail(const ReliableContext &context, uint8_t syndrome = 0);

  bool failed() const { return failed_; }
  bool busy() const { return !messages_.empty(); }
  bool exhausted(const flow::Flow &flow) const { return flow.messages && begun_ >= flow.messages; }
  bool at_message_start() const { return send_ == end_ || send_ == messages_[cursor_].first; }
  uint32_t index() const { return index_; }
  uint32_t next_psn() const { return psn_at(end_); }      // after the messages begun
  uint32_t oldest_psn() const { return psn_at(oldest_); } // the first not acknowledged
  uint64_t begun() const { return begun_; }
  uint16_t source_port() const { return source_port_; }

  // The newest RTT that was measured since the last call; 0: none.
  uint64_t take_rtt() { return std::exchange(rtt_, 0); }
  uint64_t acknowledged() const { return oldest_; } // places
  // Bytes of payload: acknowledged; sent for the first time.
  uint64_t acked_bytes(const flow::Flow &flow) const;
  uint64_t sent_bytes(const flow::Flow &flow) const;
  // Bytes of payload that may be in flight; one packet goes in any case.
  void limit(uint64_t window) { window_ = window; }
  void take_path(uint32_t path);

  void prefetch() const {
    __builtin_prefetch(messages_.place());
    __builtin_prefetch(samples_.place());
  }

  uint64_t acked_reported = 0; // bytes that the QP's control knows of
  uint64_t armed = UINT64_MAX; // time of its entry in the timer queue
  bool ready = false;          // is in the ready queue of its flow
  bool counted_busy = false, counted_over = false;

private:
  struct Message {
    uint64_t first = 0, size = 0, started = 0;
    uint32_t psns = 0;
    uint64_t end() const { return first + psns; }
  };
  struct Sample {
    uint64_t place = 0, sent = 0;
  };

  uint32_t psn_at(uint64_t place) const {
    return static_cast<uint32_t>(first_psn_ + place) & 0xffffff;
  }
  bool may_begin(const ReliableContext &context) const;
  bool window_is_full(const flow::Flow &flow) const;
  uint64_t bytes_before(uint64_t place, const Message &message, const flow::Flow &flow) const;
  void begin(uint64_t now, const ReliableContext &context);
  RequestPacket packet_at(uint64_t place, uint32_t message, const ReliableContext &context) const;
  uint32_t message_of(uint64_t place) const;
  bool outstanding(uint32_t psn, uint64_t &place, const ReliableContext &context) const;
  void advance(uint64_t now, uint64_t to, const ReliableContext &context);
  void complete(uint64_t now, const ReliableContext &context);
  void take_samples(uint64_t now, uint64_t end, const ReliableContext &context);
  void forget_samples(uint64_t from);
  void go_back(uint64_t to);
  void retransmit(uint64_t place, const ReliableContext &context);
  bool another_round(const ReliableContext &context);
  void refused(uint64_t place, const ReliableContext &context);
  void not_ready(uint64_t now, uint8_t syndrome, uint64_t place, const ReliableContext &context);
  void answer_missing(const ReliableContext &context);
  uint64_t unanswered(uint64_t place, const ReliableContext &context) const;
  uint64_t answer_bytes(uint64_t place, const ReliableContext &context) const;

  // selective.cpp
  RequestPacket send_again(uint64_t now, const ReliableContext &context);
  void again(uint64_t place, const ReliableContext &context);
  void again_missing(uint64_t from, uint64_t to, const ReliableContext &context);
  void again_after_timeout(uint64_t now, const ReliableContext &context);
  void drop_arrived();
  bool later_answer(uint64_t now, uint64_t place, const ReliableContext &context);
  bool is_queued(uint64_t place) const;

  uint64_t oldest_ = 0;  // first place not acknowledged
  uint64_t send_ = 0;    // next place to send
  uint64_t high_ = 0;    // first place never sent
  uint64_t end_ = 0;     // end of the messages begun
  uint64_t asked_ = 0;   // place after the last packet with AckReq
  uint64_t refused_ = 0; // highest place that a NAK requested
  uint64_t begun_ = 0;   // messages begun
  uint64_t since_ = 0;   // start of the timer
  uint64_t rnr_until_ = 0;
  uint64_t rtt_ = 0;
  uint64_t window_ = UINT64_MAX;                   // bytes
  uint64_t begun_bytes_ = 0, completed_bytes_ = 0; // of messages
  Ring<Message> messages_;                         // outstanding
  Ring<Sample> samples_;
  // Selective repeat:
  Ring<PlaceRun> again_;  // to send again; a run of more than one place is of a READ
  PlaceSet answered_;     // answers that arrived after a missing one
  uint64_t scanned_ = 0;  // missing answers before it were requested again
  uint64_t recovery_ = 0; // after a timeout: an ACK before it shows that the next packet is lost
  uint32_t cursor_ = 0;   // index of the message at send_
  uint32_t first_psn_, index_;
  uint16_t source_port_, first_source_port_;
  uint32_t unasked_ = 0; // packets since the last AckReq
  uint32_t rounds_ = 0, rnr_rounds_ = 0;
  bool waiting_ = false;    // until rnr_until_
  bool asked_anew_ = false; // a missing answer was requested again
  bool failed_ = false;
};

} // namespace xr::requester
