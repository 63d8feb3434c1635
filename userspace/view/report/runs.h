// SPDX-License-Identifier: Apache-2.0
// The reports of `send` and `respond`.
#pragma once

#include <string>

#include "base/result.h"
#include "model/run_reports.h"
#include "report/document.h"

namespace xr::report {

Document send_document(const SendReport &report);
Document respond_document(const RespondReport &report);

// One line of progress for a terminal. With `before`, rates since that report.
std::string send_line(const SendReport &now, const SendReport *before);
std::string respond_line(const RespondReport &now, const RespondReport *before);

// Says that the requested rate was not reached; "" if it was.
std::string shortfall(const SendReport &report);
// Why a storm did not keep its peer paused, with the largest gap; no error if it did.
Status check_storm(const PfcReport &report);

} // namespace xr::report
