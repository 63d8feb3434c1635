// SPDX-License-Identifier: Apache-2.0
// On which processors the threads of a run stay.
#pragma once

#include <vector>

#include "base/processors.h"
#include "report/document.h"

namespace xr::report {

// `processors` of JSON, a row a thread, and a line of text.
void add_processors(std::vector<Section> &sections, const std::vector<PlacedThread> &threads);

} // namespace xr::report
