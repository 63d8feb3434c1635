// SPDX-License-Identifier: Apache-2.0
// Processes that have programs or maps open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xr::datapath {

struct KernelIds {
  std::vector<uint32_t> programs, maps;
};

struct Holder {
  int pid = 0;
  std::string name; // of its command
};

// Other processes, as far as they can be seen: those of this PID namespace whose files may be read.
std::vector<Holder> find_holders(const KernelIds &ids);
// Whether this process does. libxdp before 1.4 leaves programs open that it has looked at.
bool held_here(const KernelIds &ids);

} // namespace xr::datapath
