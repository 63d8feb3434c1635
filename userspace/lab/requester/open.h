// SPDX-License-Identifier: Apache-2.0
// The stateless requester: sends its flows without waiting for answers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flow/flow.h"
#include "requester/requester.h"

namespace xr::requester {

class OpenSource : public Requester {
public:
  // `flows` must have all addresses and MACs and pass check_flow. `total` is the rate of all flows
  // together; `line_bits` (bits per second) is the base of Percent. `check_icrc`: drops received
  // packets with a wrong iCRC, as ReliableSource does. `headers_only`: as in Reliability.
  OpenSource(std::vector<flow::Flow> flows, const congestion::Rate &total, double line_bits,
             bool check_icrc = true, bool headers_only = false);
  ~OpenSource() override;

  // Counts CNPs, ACKs and NAKs, and those with a wrong iCRC apart; passes a CNP to the rate control
  // of its QP.
  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override;
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override;

  const SendCounts &counts() const override;
  double asked_pps() const override;
  uint64_t expected() const override;
  void qp_rates(uint64_t now, std::vector<QpRate> &rows) override;
  void control_values(uint64_t now, congestion::ControlValues &values) override;
  void flow_losses(std::vector<FlowLosses> &rows) const override;
  void obey(const packet::Pauses &pauses) override;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace xr::requester
