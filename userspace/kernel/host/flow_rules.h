// SPDX-License-Identifier: Apache-2.0
// Rules of a NIC that bring the RoCE frames of a port to one of its receive queues (ethtool -N).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/port_name.h"
#include "base/result.h"
#include "host/ethtool.h"

namespace xr::host {

// UDP with this destination port, over IPv4 and over IPv6, to a queue.
struct SteeredFlow {
  PortName port;
  std::string driver; // for errors; "": unknown
  uint16_t udp_port = 0;
  uint32_t queue = 0;
};

// Removes the rules that it made at its end.
class FlowRules {
public:
  // A rule that is there already is left as it is, also at the end. Where the NIC has rules for
  // IPv4 only, that is noted. Error: no rule, or one of the same frames to another queue.
  static Result<FlowRules> make(const SteeredFlow &flow, Ethtool ethtool);
  static Result<FlowRules> make(const SteeredFlow &flow);
  FlowRules(FlowRules &&) = default;
  FlowRules &operator=(FlowRules &&) = delete;
  ~FlowRules();

  const std::vector<std::string> &notes() const { return notes_; }
  // The first failure; then the rule is still there.
  Status remove();

private:
  FlowRules(const SteeredFlow &flow, Ethtool ethtool) : flow_(flow), ethtool_(std::move(ethtool)) {}
  Status add(uint32_t flow_type);
  std::string removal_of(uint32_t location) const; // a command

  SteeredFlow flow_;
  Ethtool ethtool_;
  std::vector<uint32_t> made_; // locations
  std::vector<std::string> notes_;
};

} // namespace xr::host
