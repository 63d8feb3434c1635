// SPDX-License-Identifier: Apache-2.0
// The stateless requester: sends what its flows say and waits for nobody.
#pragma once

#include <memory>
#include <vector>

#include "flow/flow.h"
#include "requester/requester.h"

namespace xr::requester {

class OpenSource : public Requester {
public:
  // Flows are whole (addresses, MACs), and check_flow has passed them. `total` is the rate of all
  // together; `line_bits` a second are what Percent is of.
  OpenSource(std::vector<flow::Flow> flows, const congestion::Rate &total, double line_bits);
  ~OpenSource() override;

  // Counts CNPs, ACKs and NAKs; a CNP also goes to the rate control of its QP.
  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override;
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override;

  const SendCounts &counts() const override;
  double asked_pps() const override;
  uint64_t expected() const override;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace xr::requester
