// SPDX-License-Identifier: Apache-2.0
// Sections of a port or capture by traffic class.
#pragma once

#include "report/reports.h"

namespace xr::report {

void add_classes(Document &document, const Snapshot &snapshot);

} // namespace xr::report
