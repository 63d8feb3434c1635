// SPDX-License-Identifier: Apache-2.0
// What would make a bridge between two ports lose frames, told and mended before it does; and what
// a port alone does not show its program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "host/netns.h"

namespace xr::datapath {

struct Trouble {
  std::string ifname; // the port of the bridge, also where the trouble is at its other end
  std::string text;   // what it is and what it loses: a sentence without its final stop
  std::string hint;   // the command that mends it
  bool mendable = false;
  bool mended = false;
};

// Looks at both ports, and at the other end of each that is a veth, in whatever namespace. With
// `fix`, mends what is mendable; what could not be mended says why. The namespace is the ports'.
Result<std::vector<Trouble>> bridge_preflight(const host::Netns &netns, const std::string &a,
                                              const std::string &b, bool skb_mode, bool fix);

// What keeps frames, or parts of them, from a program that counts on that port.
Result<std::vector<Trouble>> port_preflight(const host::Netns &netns, const std::string &ifname,
                                            bool skb_mode);

} // namespace xr::datapath
