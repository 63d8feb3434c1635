// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "metrics/families.h"

namespace xr::metrics {

// Of this process, under the names that all clients of Prometheus have for it. What cannot be read
// is left out. `proc` is where procfs is mounted.
void add_process(Families &families, const std::string &proc = "/proc");

} // namespace xr::metrics
