// SPDX-License-Identifier: Apache-2.0
// The XDP hook of one interface: who is on it. The thread is in the interface's namespace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "model/port_status.h"

namespace xr::datapath {

// The kernel's name for every program of ours, and so what tells them from others'.
inline constexpr const char *kProgramName = "xdp_roce";

struct Hook {
  Mode mode = Mode::Auto;  // of what is there
  uint32_t main_id = 0;    // what the driver calls; 0 is an empty hook
  bool dispatcher = false; // that is libxdp's dispatcher, which calls the programs
  std::vector<HookProgram> programs;
  bool hidden = false; // the kernel does not tell whose they are: CAP_SYS_ADMIN is missing

  bool has(uint32_t id) const;
  const HookProgram *ours() const;
  const HookProgram *stranger() const; // somebody else's
};

Result<Hook> read_hook(unsigned ifindex);

// The programs that libxdp has pinned in a dispatcher's directory, in the order in which they run.
std::vector<Fd> pinned_programs(const std::filesystem::path &directory);

// Puts program `fd` on the hook alone, in the place of `former`, or, for -1, if nothing is there.
Status take_hook(unsigned ifindex, Mode mode, int fd, int former);

// Takes one program off and leaves its neighbours. `fd` is the program.
Status leave_hook(unsigned ifindex, const Hook &hook, int fd);

} // namespace xr::datapath
