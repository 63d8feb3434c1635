// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/connections.h"
#include "report/document.h"

namespace xr::report {

void add_connections(Document &document, const Connections &connections);
// `seconds`: how long the ports were watched.
Document connections_report(const std::vector<std::string> &ports, double seconds,
                            const Connections &connections);

} // namespace xr::report
