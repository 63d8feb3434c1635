// SPDX-License-Identifier: Apache-2.0
// Exchanges a port's program for one with other features, atomically and with the same maps, so
// that all counts stay. The caller holds the exclusive lock.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "datapath/place.h"
#include "datapath/status.h"

namespace xr::datapath {

// What a program is loaded with: bits of enum roce_feature and of enum roce_rule_uses.
struct ProgramFeatures {
  uint32_t features = 0;
  uint32_t uses = 0;
};

// Error if another program shares libxdp's dispatcher with ours: then ours cannot be exchanged. The
// error names that program; `instead` is its hint.
Status check_exchangeable(const PortStatus &port, const std::string &instead);

// The port must have passed check_exchangeable(). If the process is killed, one of the two programs
// is on the hook and its maps are pinned. If ours is the only program of libxdp's dispatcher, the
// new program replaces the dispatcher and is alone on the hook from then on.
Status exchange(const Place &place, const PortStatus &port, const ProgramFeatures &needed);

// Fills a bridge program's devmaps. `peer_ifindex`: the other port (0: it is deleted). `cnp_fd`:
// the program that turns copies sent back into CNPs (-1: none). Call it in the namespace of both
// ports.
Status wire_bridge(const Pins &pins, unsigned ifindex, unsigned peer_ifindex, int cnp_fd);

} // namespace xr::datapath
