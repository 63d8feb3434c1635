// SPDX-License-Identifier: Apache-2.0
// What this kernel can do, found out by trying. Nothing stays in it.
#pragma once

#include "base/result.h"

namespace xr::datapath {

// Loads the program, with rules, sockets and captures. Needs Privilege::Load.
Status probe_load();

// Whether a program may replace a function of another (freplace), as libxdp's dispatcher wants it.
bool probe_dispatcher();

// Whether AF_XDP sockets can be made. Needs CAP_NET_RAW.
Status probe_sockets();

} // namespace xr::datapath
