// SPDX-License-Identifier: Apache-2.0
// What the program can do on this kernel, tried with the real one and real frames on a veth pair of
// its own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace xr::doctor {

struct Trial {
  std::string name; // of the check: "load", "dispatcher", "rules", "capture", "sockets"
  Status outcome;
};

// In a child process with a network namespace, a mount namespace and a bpffs of its own: nothing of
// it is seen outside, and nothing is left when it ends, however it ends. Needs CAP_SYS_ADMIN beside
// Privilege::Load and CAP_NET_RAW. An error: nothing could be tried. A trial that others need ends
// the list where it fails.
Result<std::vector<Trial>> try_datapath();

} // namespace xr::doctor
