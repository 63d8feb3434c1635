// SPDX-License-Identifier: Apache-2.0
// What `send` and `respond` have to say.
#pragma once

#include <string>

#include "model/run_reports.h"
#include "report/document.h"

namespace xr::report {

Document send_document(const SendReport &report);
Document respond_document(const RespondReport &report);

// One line for a terminal that is watched; since the report before, if there is one.
std::string send_line(const SendReport &now, const SendReport *before);
std::string respond_line(const RespondReport &now, const RespondReport *before);

// That the asked rate was not reached, in words; "" when it was.
std::string shortfall(const SendReport &report);

} // namespace xr::report
