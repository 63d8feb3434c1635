// SPDX-License-Identifier: Apache-2.0
// The reports of captures that were written.
#pragma once

#include "model/capture_summary.h"
#include "model/split.h"
#include "report/document.h"

namespace xr::report {

Document capture_report(const CaptureSummary &summary);

// A capture that was divided into files: `split`.
void add_split(Document &document, const SplitReport &report);

} // namespace xr::report
