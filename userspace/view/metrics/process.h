// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "metrics/families.h"

namespace xr::metrics {

// Metrics of this process, with the names that all Prometheus clients use. Values that cannot be
// read are omitted. `proc` is the mount point of procfs.
void add_process(Families &families, const std::string &proc = "/proc");

} // namespace xr::metrics
