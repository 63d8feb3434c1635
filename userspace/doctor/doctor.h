// SPDX-License-Identifier: Apache-2.0
// Runs all checks in the order of the report.
#pragma once

#include <string>

#include "base/result.h"
#include "model/check.h"

namespace xr::doctor {

struct Question {
  std::string ifname;    // "": checks the kernel and lists the RDMA devices
  std::string netns;     // namespace of the interface; "": the caller's
  std::string peer_mode; // "v1", "v2" or ""
  bool try_port = false; // tries zero-copy on the port, which may disturb its traffic
  bool fix = false;      // repairs what hides frames from XDP, without a reset of the link
  std::string pfc_from;  // the port at the other end: tries whether XDP sees a PFC frame; "": not
  std::string root;      // a copy of /proc, /sys and /boot; "": this machine
  // For hints: the program and the whole command, as the user's shell takes them; "": the usual.
  std::string program = "xdp-roce", command;
};

Result<Checks> examine(const Question &question);

} // namespace xr::doctor
