// SPDX-License-Identifier: Apache-2.0
// A bridge of two ports: every frame that enters one port leaves by the other, in the kernel. It is
// counted and tracked as by attach(), and the rules of its ingress port apply to it.
#pragma once

#include <string>
#include <vector>

#include "datapath/attach.h"
#include "datapath/preflight.h"

namespace xr::datapath {

struct BridgeReport {
  std::vector<PortStatus> ports;
  std::vector<Trouble> troubles; // conditions in which the bridge loses frames
  std::vector<std::string> notes;
};

// Both ports must be in one namespace; both become promiscuous. With `fix`, repairable troubles are
// repaired, also of a bridge of these two that is there already. Detaching one port detaches the
// other. An error about one port begins with its name.
Result<BridgeReport> bridge(const std::string &a, const std::string &b, const std::string &netns,
                            const AttachOptions &options, bool fix);

} // namespace xr::datapath
