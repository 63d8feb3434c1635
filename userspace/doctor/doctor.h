// SPDX-License-Identifier: Apache-2.0
// All checks, in the order in which they are told.
#pragma once

#include <string>

#include "base/result.h"
#include "model/check.h"

namespace xr::doctor {

struct Question {
  std::string ifname;    // "": the kernel, and what RDMA devices there are
  std::string netns;     // of the interface; "": the caller's
  std::string peer_mode; // "v1", "v2" or ""
  bool try_port = false; // tries on the port what may disturb its traffic: zero-copy
  std::string root;      // a tree that stands for /proc, /sys and /boot; "": the machine
};

Result<Checks> examine(const Question &question);

} // namespace xr::doctor
