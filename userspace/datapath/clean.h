// SPDX-License-Identifier: Apache-2.0
// Taking things away again, for detach and for an attach that failed. The lock is held.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "datapath/netns.h"
#include "datapath/pins.h"

namespace xr::datapath {

// Takes every program of ours off the interface's hook: the pinned one, or any of our name. Adds
// the ids of those, and of their maps, to `freed`. Tells how many there were.
struct KernelIds {
  std::vector<uint32_t> programs, maps;
};
Result<int> clean_hook(const Netns &netns, unsigned ifindex, const Pins *pins, KernelIds &freed);

// Takes back that a bridge made the port promiscuous.
void clean_promiscuous(const Netns &netns, const Pins &pins);

// Removes what libxdp has pinned of a dispatcher of this port that is on no hook any more: one with
// a program that has maps of these pins.
void sweep_dispatchers(const Bpffs &bpffs, const Pins &pins);

// Removes the pins, and those that libxdp left for the same program when it was killed half-way.
// The program is on no hook any more.
Status clean_pins(const Bpffs &bpffs, const Pins &pins, KernelIds &freed);

// The kernel frees a little later than it is told. False: after a moment, somebody still holds
// some.
bool wait_until_freed(const KernelIds &freed);

} // namespace xr::datapath
