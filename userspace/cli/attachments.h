// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "datapath/attach.h"
#include "report/document.h"

namespace xr::cli {

// What attach and status tell, and detach.
report::Document attachments_report(const std::vector<datapath::PortStatus> &ports);
report::Document detached_report(const std::vector<datapath::DetachReport> &reports);

} // namespace xr::cli
