// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/capture_summary.h"
#include "report/document.h"

namespace xr::report {

Document capture_report(const CaptureSummary &summary);

} // namespace xr::report
