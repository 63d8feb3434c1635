// SPDX-License-Identifier: Apache-2.0
// Parts of the reports of `send` and `respond`: RDMA CM, memory, and what was verified.
#pragma once

#include <vector>

#include "model/run_reports.h"
#include "report/document.h"

namespace xr::report {

Section cm_section(const CmCounts &counts);
Section memory_section(const MemoryReport &memory);
void add_verified(std::vector<Section> &sections, const VerifyCounts &counts);

} // namespace xr::report
