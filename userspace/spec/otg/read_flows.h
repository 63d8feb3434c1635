// SPDX-License-Identifier: Apache-2.0
// Reads flows[] of a configuration whose ports, Ethernets and interfaces are known already.
#pragma once

#include <set>
#include <string>

#include "otg/config.h"
#include "otg/object.h"

namespace xr::otg {

// Appends to config.plain_flows. What is wrong is in the findings of `root`. `taken`: names of
// flows that are there already.
//
// An extension, off by default: "x_xdp_roce_icrc": true in the last header, a custom one after
// UDP, makes the last four bytes of each frame an iCRC of RoCEv2. Its bytes start with a BTH.
void read_flows(Object &root, Config &config, std::set<std::string> taken = {});

} // namespace xr::otg
