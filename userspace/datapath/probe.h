// SPDX-License-Identifier: Apache-2.0
// What this kernel can do, found out by trying. Nothing stays in it.
#pragma once

#include "base/result.h"

namespace xr::datapath {

// Loads the program, with rules, sockets and captures, and attaches it nowhere. Needs
// Privilege::Load.
Status probe_load();

// Whether AF_XDP sockets can be made. Needs CAP_NET_RAW.
Status probe_sockets();

} // namespace xr::datapath
