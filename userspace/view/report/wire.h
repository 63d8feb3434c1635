// SPDX-License-Identifier: Apache-2.0
// Reports of `wire` and `link show`.
#pragma once

#include <string>

#include "model/wire_counts.h"
#include "report/document.h"

namespace xr::report {

Document wire_document(const WireReport &report);
// One line for a report that is repeated; `before`: the report before it, or null.
std::string wire_line(const WireReport &now, const WireReport *before);
// The link of one port, and what the process that holds its frames counted.
Document link_document(const WirePortReport &port);

} // namespace xr::report
