// SPDX-License-Identifier: Apache-2.0
// Tests by trying what this kernel supports. Nothing remains in the kernel.
#pragma once

#include "base/result.h"

namespace xr::datapath {

// Loads the program with rules, sockets and captures without attaching it. Needs Privilege::Load.
Status probe_load();

// Opens an AF_XDP socket. Needs CAP_NET_RAW.
Status probe_sockets();

} // namespace xr::datapath
