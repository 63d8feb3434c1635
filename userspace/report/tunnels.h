// SPDX-License-Identifier: Apache-2.0
// Sections and columns of ports and captures whose tunnels were taken off.
#pragma once

#include <cstdint>

#include "report/reports.h"

namespace xr::report {

void add_tunnels(Document &document, const Snapshot &snapshot);

// Columns of a stream: its missing PSNs by who lost them.
const std::vector<Column> &missing_columns();
Value missing_cell(const Snapshot &snapshot, uint32_t place, size_t column);

} // namespace xr::report
