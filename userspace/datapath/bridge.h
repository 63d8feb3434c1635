// SPDX-License-Identifier: Apache-2.0
// Two ports as one wire: every frame that enters one leaves by the other, in the kernel, counted
// and tracked as attach() does, impaired by the rules of the port it enters.
#pragma once

#include <string>
#include <vector>

#include "datapath/attach.h"
#include "datapath/preflight.h"

namespace xr::datapath {

struct BridgeReport {
  std::vector<PortStatus> ports;
  std::vector<Trouble> troubles; // what would make it lose frames
  std::vector<std::string> notes;
};

// Both ports in one namespace; both go promiscuous. With `fix`, what would lose frames is mended
// first. Detaching one of them detaches the other. An error of one port begins with its name.
Result<BridgeReport> bridge(const std::string &a, const std::string &b, const std::string &netns,
                            const AttachOptions &options, bool fix);

} // namespace xr::datapath
