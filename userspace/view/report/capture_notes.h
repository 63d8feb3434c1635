// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/snapshot.h"
#include "report/document.h"

namespace xr::report {

// What capture files say about their capture: packets that it dropped itself, timestamps that do
// not fit the file's unit. Nothing for a port.
void add_capture_notes(Document &document, const Snapshot &snapshot);

} // namespace xr::report
