// SPDX-License-Identifier: Apache-2.0
// Attaches a new program to an XDP hook: with libxdp's dispatcher, so that several programs can
// share the hook, if the kernel supports it; else alone on an empty hook. The caller holds the
// exclusive lock and is in the port's namespace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/object.h"
#include "datapath/status.h"
#include "roce/config.h"

namespace xr::datapath {

struct Joined {
  Object object;         // loaded and attached; its maps are pinned
  Mode mode;             // Native or Skb
  uint32_t features = 0; // fewer than requested if the shared hook does not allow all
  std::string alone;     // why no other program can share the hook, and the remedy; "": it can
};

// `port` is the interface's current status: if other programs are on it, they must run under a
// dispatcher. `one_with`: pins of a port whose counts this one shares, or null. Mode::Auto tries
// native, then skb with a note in `notes`.
Result<Joined> join_hook(const PortStatus &port, const Pins &pins, const roce_config &config,
                         const AttachOptions &options, const Pins *one_with,
                         std::vector<std::string> &notes);

// The error that another program is on the hook and ours cannot share it. `why`: the reason ("":
// the other program has no dispatcher).
Error busy(const PortStatus &port, const std::string &why = "");

} // namespace xr::datapath
