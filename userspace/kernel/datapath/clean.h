// SPDX-License-Identifier: Apache-2.0
// Removes programs, pins and settings: for detach, and for an attach that failed. The caller holds
// the exclusive lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "datapath/holders.h"
#include "datapath/pins.h"
#include "host/netns.h"

namespace xr::datapath {

// Takes every program of ours off the interface's hook: the pinned one and any with our name. Adds
// their ids and their maps' ids to `freed`. Returns the number of programs.
Result<int> clean_hook(const host::Netns &netns, unsigned ifindex, const Pins *pins,
                       KernelIds &freed);

// Makes the port non-promiscuous again if a bridge made it promiscuous.
void clean_promiscuous(const host::Netns &netns, const Pins &pins);

// Removes libxdp's pins of previous dispatchers of this port: those with a program that uses maps
// of these pins. The program must be on no hook.
void sweep_dispatchers(const Bpffs &bpffs, const Pins &pins);

// Removes the pins, and libxdp's pins of the same program if libxdp was killed before it removed
// them. The program must be on no hook.
Status clean_pins(const Bpffs &bpffs, const Pins &pins, KernelIds &freed);

// Waits until the kernel has freed these programs and maps. The kernel frees them asynchronously:
// within milliseconds, or within seconds after a dispatcher of kernel 6.1. The wait ends early when
// a process holds one of them open; what this process holds is freed when it ends.
struct Freed {
  bool all = false;            // all are freed, except those that this process holds
  std::vector<Holder> holders; // other processes that hold some of them
};
Freed wait_until_freed(const KernelIds &ids,
                       std::chrono::milliseconds for_holders = std::chrono::seconds(2),
                       std::chrono::milliseconds for_kernel = std::chrono::seconds(20));

} // namespace xr::datapath
