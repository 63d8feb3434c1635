// SPDX-License-Identifier: Apache-2.0
// The ports of a run in this process: of a lane that it made, or those that the user named.
#pragma once

#include <string>

namespace xr::places {

struct RunPort {
  std::string ifname, netns = {}; // ifname "": this process has no such port
  bool here() const { return !ifname.empty(); }
};

struct RunPorts {
  RunPort sender;      // requests leave by it
  RunPort left, right; // of the wire: towards the senders, towards the receivers
  RunPort receiver;    // requests are answered there
  bool wire() const { return left.here() && right.here(); }
};

} // namespace xr::places
