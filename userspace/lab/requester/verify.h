// SPDX-License-Identifier: Apache-2.0
// Verifies the peer's memory end to end: WRITEs a pattern, READs it back and compares, in rounds,
// as many messages at a time as there is memory for.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "requester/frames.h"
#include "requester/reliable.h"

namespace xr::requester {

// Prepares flows for VerifySource: gives each message its address. `memory`: bytes of the peer that
// each flow may use from its `va` on; 0: as many as one message of each QP needs. Error: not a
// WRITE, not enough memory, flows that write to the same addresses, or what a verification does not
// have.
Status prepare_verify(std::vector<flow::Flow> &flows, uint64_t memory);

class VerifySource : public Requester, private ReadSink {
public:
  // Like ReliableSource, with flows that prepare_verify() prepared. Messages and payload are
  // counted twice: when they are written and when they are read.
  VerifySource(std::vector<flow::Flow> flows, const congestion::Rate &total, double line_bits,
               const Reliability &reliability);

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override;
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return over_; }

  const SendCounts &counts() const override;
  double asked_pps() const override;
  uint64_t expected() const override;
  uint64_t over() const override;
  void qp_rates(uint64_t now, std::vector<QpRate> &rows) override;
  void obey(const packet::Pauses &pauses) override;

  const VerifyCounts *verified() const override { return &verified_; }

private:
  struct FlowState {
    explicit FlowState(const flow::Flow &given) : flow(given), frames(flow) {}
    flow::Flow flow; // `begins`: the round's begin, then its READs' begin
    FlowFrames frames;
    std::vector<bool> failed; // by QP
    uint64_t written = 0;     // messages of each QP in earlier rounds
    uint64_t round_end = 0;   // and with this one
    bool over = false;
  };

  void advance(uint64_t now);
  bool begin_round(uint64_t now);
  void begin_part(bool reads);
  void end_part();
  void arrived(const flow::Flow &flow, uint32_t qp_index, uint64_t message, uint64_t offset,
               std::span<const uint8_t> payload) override;

  std::deque<FlowState> flows_;
  congestion::Rate total_;
  double line_bits_;
  Reliability reliability_;
  std::unique_ptr<ReliableSource> source_; // of this part of the round
  std::vector<size_t> active_;             // its flows
  bool reads_ = false;                     // it reads
  bool over_ = false;
  std::optional<uint64_t> begun_;
  const packet::Pauses *pauses_ = nullptr;
  SendCounts before_; // of earlier parts
  mutable SendCounts counts_;
  VerifyCounts verified_;
  std::vector<uint8_t> wanted_;
};

} // namespace xr::requester
