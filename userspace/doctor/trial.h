// SPDX-License-Identifier: Apache-2.0
// Tries the real program on this kernel with real frames on a temporary veth pair.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace xr::doctor {

struct Trial {
  std::string name; // name of the check: "load", "dispatcher", "rules", "capture", "sockets"
  Status outcome;
};

// Runs in a child process with its own network namespace, mount namespace and bpffs: it has no
// effect outside and leaves nothing even if it crashes. Needs CAP_SYS_ADMIN, Privilege::Load and
// CAP_NET_RAW. Error: no trial was possible. The list ends at a failed trial that later ones depend
// on.
Result<std::vector<Trial>> try_datapath();

} // namespace xr::doctor
