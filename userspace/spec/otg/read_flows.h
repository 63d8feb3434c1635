// SPDX-License-Identifier: Apache-2.0
// For this folder only: flows[] of a configuration.
#pragma once

#include "otg/config.h"

namespace xr::otg {

// Fills config.plain_flows. Ports, ethernets and interfaces are there.
void read_flows(Object &root, Config &config);

} // namespace xr::otg
