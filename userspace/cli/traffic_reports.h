// SPDX-License-Identifier: Apache-2.0
// What `send` and `respond` have to say.
#pragma once

#include <string>

#include "endpoint/respond.h"
#include "endpoint/send.h"
#include "report/document.h"

namespace xr::cli {

report::Document send_document(const endpoint::SendReport &report);
report::Document respond_document(const endpoint::RespondReport &report);

// One line for a terminal that is watched; since the report before, if there is one.
std::string send_line(const endpoint::SendReport &now, const endpoint::SendReport *before);
std::string respond_line(const endpoint::RespondReport &now, const endpoint::RespondReport *before);

// That the asked rate was not reached, in words; "" when it was.
std::string shortfall(const endpoint::SendReport &report);

} // namespace xr::cli
