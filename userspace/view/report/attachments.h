// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/port_status.h"
#include "report/document.h"

namespace xr::report {

// The reports of `attach`, `status` and `detach`.
Document attachments_report(const std::vector<PortStatus> &ports);
Document detached_report(const std::vector<DetachReport> &reports);

} // namespace xr::report
