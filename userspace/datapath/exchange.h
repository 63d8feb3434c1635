// SPDX-License-Identifier: Apache-2.0
// A port's program exchanged for one with other features, in one step and with all that was
// counted. The lock is held.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "datapath/place.h"
#include "datapath/status.h"

namespace xr::datapath {

// What a program can do: enum roce_feature, and enum roce_rule_uses.
struct Abilities {
  uint32_t features = 0;
  uint32_t uses = 0;
};

// Beside another program, behind libxdp's dispatcher, a program cannot be exchanged: the error
// names that one, and `instead` is its hint.
Status check_exchangeable(const PortStatus &port, const std::string &instead);

// The port has passed check_exchangeable(). Killed anywhere between, one of the two programs is on
// the hook and its maps are pinned. A program that is the only one behind libxdp's dispatcher is
// exchanged together with it, and is alone on the hook from then on.
Status exchange(const Place &place, const PortStatus &port, const Abilities &abilities);

// Where a bridge's frames leave: fills the maps of its program for the other port (0: it is gone),
// `cnp_fd` makes copies that go back into CNPs (-1: there is none). In the namespace of both.
Status wire_bridge(const Pins &pins, unsigned ifindex, unsigned peer_ifindex, int cnp_fd);

} // namespace xr::datapath
