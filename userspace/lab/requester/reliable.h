// SPDX-License-Identifier: Apache-2.0
// The requester of reliable connections (RC, XRC): each message completes, or its QP fails.
// (Of UC and UD, where messages are posted: what was sent is complete.)
// Go-back-N after NAKs and timeouts, waits after RNR NAKs, requests lost READ responses again from
// the first missing one (IBA vol. 1, 9.7.5). Or selective repeat: only what is missing goes again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "congestion/notification_point.h"
#include "flow/flow.h"
#include "requester/requester.h"

namespace xr::requester {

class FlowFrames;

// A message of a flow whose messages are posted. Those of one flow may differ in their verbs, but
// not with selective repeat.
struct Post {
  packet::Verb verb = packet::Verb::Send;
  uint64_t bytes = 0;
  uint64_t va = 0;   // of the peer, unless it is a SEND
  uint32_t rkey = 0; // of `va`
  uint32_t immediate = 0;
  const uint8_t *data = nullptr; // its payload, until it is complete; nullptr: a template's
  uint8_t *into = nullptr;       // READ: where the answer's payload goes; nullptr: nowhere
};

// Hears when messages are complete, oldest first, and when a QP fails. Must not call the source.
class Completions {
public:
  virtual ~Completions() = default;
  virtual void completed(const flow::Flow &flow) = 0;
  // Its retries are used up, or a NAK ended it: the syndrome of that; 0: no answer came.
  virtual void failed(const flow::Flow &flow, uint8_t syndrome) = 0;
};

// Gets the payload of READ responses, each once.
class ReadSink {
public:
  virtual ~ReadSink() = default;
  // `message` is its number in the QP, `offset` the payload's place in it.
  virtual void arrived(const flow::Flow &flow, uint32_t qp_index, uint64_t message, uint64_t offset,
                       std::span<const uint8_t> payload) = 0;
};

struct Reliability {
  bool selective = false;    // selective repeat instead of go-back-N
  uint32_t window = 256;     // unacknowledged packets per QP
  uint8_t timeout_code = 14; // retransmission timer 4.096 us * 2^code; 0: none
  uint8_t retries = 7;       // retries without progress before a QP fails
  uint8_t rnr_retries = 7;   // 7: unlimited
  bool check_icrc = true;    // drops received packets with a wrong iCRC
  bool cnp = true;           // CNPs for READ responses that are marked CE
  congestion::CnpPacing cnp_pacing = {};
  uint8_t cnp_dscp = 48;
  // Received frames end after their headers, as in a simulation, which has no payload: without
  // check_icrc. Fields are read from the parsed packet alone. Templates are those of
  // make_headers().
  bool headers_only = false;
  bool times = true;      // counts RTTs and completion times of messages
  uint64_t drain_ns = 0;  // limit for outstanding messages after duration_ns; 0: unlimited
  uint32_t answered = 16; // outstanding READs and atomics per QP; 16 at most
  ReadSink *reads = nullptr;
  Completions *completions = nullptr;
  bool flow_counts = false; // each flow has counts of its own: progress()
};

// What a flow has done. Times are 0 until they happen.
struct FlowProgress {
  const SendCounts *counts = nullptr; // nullptr without Reliability::flow_counts
  uint64_t first_sent_ns = 0, last_sent_ns = 0, last_acked_ns = 0;
  bool open = true;  // new messages begin
  bool busy = false; // messages are outstanding
  uint32_t failed_qps = 0;
  uint64_t messages_begun = 0;
};

class ReliableSource : public Requester {
public:
  // Like OpenSource; all flows are RC or XRC, or UC or UD with posted messages. At the end of its
  // duration a flow begins no new messages and completes the outstanding ones. `frames`: a flow's
  // templates, for each flow, if others have made them; they outlive the source.
  ReliableSource(std::vector<flow::Flow> flows, const congestion::Rate &total, double line_bits,
                 const Reliability &reliability, const std::vector<FlowFrames *> &frames = {});
  ~ReliableSource() override;

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override;
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override;

  const SendCounts &counts() const override;
  double asked_pps() const override;
  // Count messages; over() counts completed and failed ones.
  uint64_t expected() const override;
  void qp_rates(uint64_t now, std::vector<QpRate> &rows) override;
  void control_values(uint64_t now, congestion::ControlValues &values) override;
  void flow_losses(std::vector<FlowLosses> &rows) const override;
  void obey(const packet::Pauses &pauses) override;
  void echo(std::span<const xdp_roce_hop> hops) override;
  void prefetch(unsigned step) const override;
  uint64_t over() const override;

  // How a QP of a flow would begin if it continued after its last packet. nullopt: it has failed.
  std::optional<flow::Flow::Begin> end_of(size_t flow, uint32_t qp_index) const;
  // How one that has failed would begin: at the first packet that was not acknowledged.
  flow::Flow::Begin begin_again(size_t flow, uint32_t qp_index) const;

  // For one who starts and stops flows while others send. What is outstanding is completed.
  void hold(size_t flow, bool held); // no new messages begin meanwhile
  void close(size_t flow);           // no new messages
  void abandon(size_t flow);         // what is outstanding fails
  // A message for a flow whose messages are posted; it begins after those before it. The second
  // form: as the flow says, of so many bytes.
  void post(uint64_t now, size_t flow, const Post &post);
  void post(uint64_t now, size_t flow, uint64_t bytes);
  FlowProgress progress(size_t flow) const;
  // It has the QP that the packet answers.
  bool owns(const roce_packet &packet) const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace xr::requester
