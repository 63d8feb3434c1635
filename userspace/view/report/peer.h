// SPDX-License-Identifier: Apache-2.0
// The report of `peer`: one test with a tool at the other end.
#pragma once

#include "model/peer_report.h"
#include "report/document.h"

namespace xr::report {

Document peer_document(const PeerReport &report);

} // namespace xr::report
