// SPDX-License-Identifier: Apache-2.0
// Finds, and repairs, what makes a bridge between two ports lose frames; and finds what hides
// frames from the program on a single port.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "host/netns.h"

namespace xr::datapath {

struct Trouble {
  std::string ifname;   // the port, also if the trouble is at the other end of its veth pair
  std::string text;     // what is wrong and what is lost: a sentence without its final stop
  std::string hint;     // the command that repairs it
  bool fixable = false; // `fix` can repair it
  bool fixed = false;
};

// Checks ports `a` and `b` of namespace `netns`; for a veth also its peer, in any namespace. With
// `fix`, repairs what is fixable; if a repair fails, the text says why.
Result<std::vector<Trouble>> bridge_preflight(const host::Netns &netns, const std::string &a,
                                              const std::string &b, bool skb_mode, bool fix);

// What hides frames, or parts of them, from a program that counts on this port. `fix` as above.
Result<std::vector<Trouble>> port_preflight(const host::Netns &netns, const std::string &ifname,
                                            bool skb_mode, bool fix = false);

} // namespace xr::datapath
