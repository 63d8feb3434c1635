// SPDX-License-Identifier: Apache-2.0
// Which interface is meant.
#pragma once

#include <string>

namespace xr {

struct PortName {
  std::string ifname;
  std::string netns = {}; // "": the process's own network namespace
};

} // namespace xr
