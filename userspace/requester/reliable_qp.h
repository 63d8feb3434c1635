// SPDX-License-Identifier: Apache-2.0
// One QP of a reliable requester: what is outstanding, and what to send next. Places count PSNs
// from the first one on and do not wrap.
#pragma once

#include <cstdint>

#include "base/ring.h"
#include "flow/flow.h"
#include "requester/reliable.h"

namespace xr::requester {

// What the QPs of a flow share.
struct ReliableContext {
  const flow::Flow &flow;
  const Reliability &reliability;
  SendCounts &counts;
  bool answered = false; // by READ responses or atomic ACKs only: an ACK does not do
  bool open = true;      // new messages may begin
  uint64_t timeout_ns = 0;
};

// A request packet but for its frame.
struct RequestPacket {
  packet::Segment segment;
  uint32_t psn = 0, dma_len = 0;
  uint64_t va = 0;
  uint64_t message = 0; // of its QP, from 0
  bool ack_req = false;
  bool again = false; // was sent before
};

class ReliableQp {
public:
  // READs and atomics outstanding: what responders keep the results of.
  static constexpr size_t kAnswered = 16;

  explicit ReliableQp(uint32_t index, const flow::Flow &flow)
      : first_psn_(flow.first_psn(index)), index_(index), source_port_(flow.source_port(index)) {}

  bool may_send(const ReliableContext &context) const;
  RequestPacket send(uint64_t now, const ReliableContext &context);

  void acknowledge(uint64_t now, uint8_t syndrome, uint32_t psn, const ReliableContext &context);
  // A READ response, or an atomic's.
  void response(uint64_t now, const roce_packet &packet, const ReliableContext &context);
  // When timer() has passed.
  void expire(uint64_t now, const ReliableContext &context);
  uint64_t timer(const ReliableContext &context) const;
  void fail(const ReliableContext &context);

  bool failed() const { return failed_; }
  bool busy() const { return !messages_.empty(); }
  bool exhausted(const flow::Flow &flow) const { return flow.messages && begun_ >= flow.messages; }
  bool at_message_start() const { return send_ == end_ || send_ == messages_[cursor_].first; }
  uint32_t index() const { return index_; }
  uint16_t source_port() const { return source_port_; }

  uint64_t armed = UINT64_MAX; // the time of its entry among the timers
  bool ready = false;          // stands in its flow's queue
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
  void begin(uint64_t now, const ReliableContext &context);
  RequestPacket packet_at(uint64_t place, const ReliableContext &context) const;
  bool outstanding(uint32_t psn, uint64_t &place, const ReliableContext &context) const;
  void advance(uint64_t now, uint64_t to, const ReliableContext &context);
  void complete(uint64_t now, const ReliableContext &context);
  void go_back(uint64_t to);
  bool another_round(const ReliableContext &context);
  void refused(uint64_t place, const ReliableContext &context);
  void not_ready(uint64_t now, uint8_t syndrome, uint64_t place, const ReliableContext &context);
  void answer_missing(const ReliableContext &context);

  uint64_t oldest_ = 0;  // not acknowledged
  uint64_t send_ = 0;    // to be sent next
  uint64_t high_ = 0;    // never sent
  uint64_t end_ = 0;     // of the messages that have begun
  uint64_t asked_ = 0;   // behind the last packet with AckReq
  uint64_t refused_ = 0; // the newest that a NAK asked for
  uint64_t begun_ = 0;   // messages
  uint64_t since_ = 0;   // when the timer was started
  uint64_t rnr_until_ = 0;
  Ring<Message> messages_; // outstanding
  Ring<Sample> samples_;
  uint32_t cursor_ = 0; // the message of send_
  uint32_t first_psn_, index_;
  uint16_t source_port_;
  uint32_t unasked_ = 0; // packets since the last AckReq
  uint32_t rounds_ = 0, rnr_rounds_ = 0;
  bool waiting_ = false;    // for the end of RNR
  bool asked_anew_ = false; // for an answer that is missing
  bool failed_ = false;
};

} // namespace xr::requester
