// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "doctor/port.h"
#include "host/files.h"
#include "model/check.h"

namespace xr::doctor {

// Checks the RDMA devices on an interface or on its bond, and whether their packets bypass XDP.
void check_rdma(const host::Files &files, const PortFacts &port, const std::string &peer_mode,
                Checks &checks);

// Lists the RDMA devices of the machine.
void list_rdma(const host::Files &files, Checks &checks);

// For an interface in a namespace whose /sys is not readable here.
void rdma_elsewhere(const PortFacts &port, const std::string &peer_mode, Checks &checks);

} // namespace xr::doctor
