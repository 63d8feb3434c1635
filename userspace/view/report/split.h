// SPDX-License-Identifier: Apache-2.0
// The report of a capture that was divided into files: `split`.
#pragma once

#include "model/split.h"
#include "report/document.h"

namespace xr::report {

void add_split(Document &document, const SplitReport &report);

} // namespace xr::report
