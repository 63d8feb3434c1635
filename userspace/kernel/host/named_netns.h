// SPDX-License-Identifier: Apache-2.0
// Makes and removes network namespaces with ip-netns(8) names.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace xr::host {

std::vector<std::string> netns_names();
// A new namespace whose interfaces have no IPv6 addresses. Error if the name is taken.
Status make_netns(const std::string &name);
// Its interfaces go with it, unless a process is in it or has it open. No error if there is none.
Status remove_netns(const std::string &name);

} // namespace xr::host
