// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/nic_report.h"
#include "report/document.h"

namespace xr::report {

// Copies from `nic`, which need not outlive the document.
void add_nic(Document &document, const NicReport &nic);

} // namespace xr::report
