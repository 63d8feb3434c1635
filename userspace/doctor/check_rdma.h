// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "doctor/port.h"
#include "host/files.h"
#include "model/check.h"

namespace xr::doctor {

// Of the RDMA devices on an interface, or on the bond that it is a port of, and of what passes them
// by.
void check_rdma(const host::Files &files, const PortFacts &port, const std::string &peer_mode,
                Checks &checks);

// What RDMA devices there are.
void list_rdma(const host::Files &files, Checks &checks);

// For an interface in a namespace whose /sys is not this one.
void rdma_elsewhere(const PortFacts &port, const std::string &peer_mode, Checks &checks);

} // namespace xr::doctor
