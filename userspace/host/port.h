// SPDX-License-Identifier: Apache-2.0
// One interface as XDP finds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/hook.h"
#include "datapath/link.h"
#include "datapath/preflight.h"
#include "host/dcb.h"
#include "host/netdev_family.h"
#include "host/zero_copy.h"
#include "report/check.h"

namespace xr::host {

struct PortFacts {
  datapath::LinkFacts link;
  std::string netns; // its name, "" for the caller's
  datapath::Queues queues;
  uint32_t cpus = 1;
  Result<XdpFeatures> xdp = Error{};
  std::optional<Result<ZeroCopyTrial>> zero_copy; // none: not tried
  Result<datapath::Features> features = Error{};
  Result<datapath::Hook> hook = Error{};
  Result<Pfc> pfc = Error{};
  Result<std::vector<datapath::Trouble>> troubles = Error{};

  ZeroCopyPort zero_copy_port() const;

  // A shell's command, as it must be given to reach its namespace.
  std::string command(const std::string &line) const {
    return netns.empty() ? line : "ip netns exec " + netns + " " + line;
  }
};

// An error only where there is no such interface, or namespace. `try_port`: tries zero-copy, which
// may cost frames of the port's traffic.
Result<PortFacts> read_port(const std::string &ifname, const std::string &netns,
                            bool try_port = false);
void check_port(const PortFacts &port, Checks &checks);

} // namespace xr::host
