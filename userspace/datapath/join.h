// SPDX-License-Identifier: Apache-2.0
// Puts a new program on an XDP hook: behind libxdp's dispatcher, beside others, where the kernel
// lets it; else, on an empty hook, alone. The lock is held, the thread is in the port's namespace.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/object.h"
#include "datapath/status.h"
#include "roce/config.h"

namespace xr::datapath {

struct Joined {
  Object object;         // loaded, and on the hook; its maps are pinned
  Mode mode;             // Native or Skb
  uint32_t features = 0; // fewer than were asked for where a shared hook does not allow them
  std::string alone;     // why no other program can join it, and what would change that; "": it can
};

// `port` is the interface as it is now: another program may be on it only behind a dispatcher.
// Native, then, where options.mode is Auto, skb: a note says so.
Result<Joined> join_hook(const PortStatus &port, const Pins &pins, const roce_config &config,
                         const AttachOptions &options, std::vector<std::string> &notes);

// Another program is on the hook, and ours cannot be beside it because of `why` ("": it has no
// dispatcher).
Error busy(const PortStatus &port, const std::string &why = "");

} // namespace xr::datapath
