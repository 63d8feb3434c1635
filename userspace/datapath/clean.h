// SPDX-License-Identifier: Apache-2.0
// Taking things away again, for detach and for an attach that failed. The lock is held.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "datapath/holders.h"
#include "datapath/pins.h"
#include "host/netns.h"

namespace xr::datapath {

// Takes every program of ours off the interface's hook: the pinned one, or any of our name. Adds
// the ids of those, and of their maps, to `freed`. Tells how many there were.
Result<int> clean_hook(const host::Netns &netns, unsigned ifindex, const Pins *pins,
                       KernelIds &freed);

// Takes back that a bridge made the port promiscuous.
void clean_promiscuous(const host::Netns &netns, const Pins &pins);

// Removes what libxdp has pinned of a dispatcher of this port that is on no hook any more: one with
// a program that has maps of these pins.
void sweep_dispatchers(const Bpffs &bpffs, const Pins &pins);

// Removes the pins, and those that libxdp left for the same program when it was killed half-way.
// The program is on no hook any more.
Status clean_pins(const Bpffs &bpffs, const Pins &pins, KernelIds &freed);

// The kernel frees later than it is asked to: at once, or, behind a dispatcher of kernel 6.1, after
// some seconds. So it is only waited for while no process holds any. What this process itself holds
// is free when it ends.
struct Freed {
  bool all = false;            // but for this process's own
  std::vector<Holder> holders; // of what is not
};
Freed wait_until_freed(const KernelIds &ids,
                       std::chrono::milliseconds for_holders = std::chrono::seconds(2),
                       std::chrono::milliseconds for_kernel = std::chrono::seconds(20));

} // namespace xr::datapath
