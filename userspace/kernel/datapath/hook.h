// SPDX-License-Identifier: Apache-2.0
// The XDP hook of one interface and the programs on it. Call these functions in the interface's
// network namespace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "model/port_status.h"

namespace xr::datapath {

// The kernel's name of our program; it distinguishes ours from others.
inline constexpr const char *kProgramName = "xdp_roce";

struct Hook {
  Mode mode = Mode::Auto;  // of the attached program
  uint32_t main_id = 0;    // id of the program that the driver calls; 0: the hook is empty
  bool dispatcher = false; // main_id is libxdp's dispatcher, which calls `programs`
  std::vector<HookProgram> programs;
  bool hidden = false; // CAP_SYS_ADMIN is missing: the kernel does not give names of programs

  bool has(uint32_t id) const;
  const HookProgram *ours() const;    // our first program, or null
  const HookProgram *foreign() const; // the first program of another tool, or null
};

Result<Hook> read_hook(unsigned ifindex);

// The programs that libxdp pinned in a dispatcher's directory, in the order in which they run.
std::vector<Fd> pinned_programs(const std::filesystem::path &directory);

// Attaches program `fd` to the hook without a dispatcher: replaces `former`, or, if `former` is -1,
// requires an empty hook.
Status take_hook(unsigned ifindex, Mode mode, int fd, int former);

// Takes program `fd` off the hook; other programs of a dispatcher stay.
Status leave_hook(unsigned ifindex, const Hook &hook, int fd);

} // namespace xr::datapath
