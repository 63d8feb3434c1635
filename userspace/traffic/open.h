// SPDX-License-Identifier: Apache-2.0
// The stateless requester: sends what its flows say and waits for nobody.
#pragma once

#include <memory>
#include <vector>

#include "traffic/flow.h"
#include "traffic/send_counts.h"
#include "traffic/source.h"

namespace xr::traffic {

class OpenSource : public Source {
public:
  // Flows are whole (addresses, MACs), and check_flow has passed them. `total` is the rate of all
  // together; `line_bits` a second are what Percent is of.
  OpenSource(std::vector<Flow> flows, const Rate &total, double line_bits);
  ~OpenSource() override;

  // Counts CNPs, ACKs and NAKs and does nothing about them.
  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override;
  size_t next(uint64_t now, std::span<Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override;

  const SendCounts &counts() const;
  // Packets a second asked for on the average; 0: as fast as it goes.
  double asked_pps() const;
  // All packets there will be; 0: no end, or not known.
  uint64_t packets_to_come() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace xr::traffic
