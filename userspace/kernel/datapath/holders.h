// SPDX-License-Identifier: Apache-2.0
// Finds processes that hold BPF programs or maps open.
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
  std::string name; // the command, from /proc/PID/comm
};

// Other processes that hold one of `ids` open: only those of this PID namespace whose /proc/PID/fd
// this process may read.
std::vector<Holder> find_holders(const KernelIds &ids);
// Whether this process does. libxdp before 1.4 does not close programs that it has inspected.
bool held_here(const KernelIds &ids);

} // namespace xr::datapath
