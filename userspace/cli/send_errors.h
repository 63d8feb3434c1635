// SPDX-License-Identifier: Apache-2.0
// Why a run of `send` failed, in words.
#pragma once

#include <string>

#include "base/result.h"
#include "flow/flow.h"
#include "model/run_reports.h"

namespace xr::cli {

// A note if connected flows go to QP 0 or 1.
void warn_of_management_qps(const std::string &context, const std::vector<flow::Flow> &flows);
// Prints a warning, once per run, if all answers were for QPs that no flow has.
void warn_of_qps(const std::string &context, const SendCounts &counts, bool &warned);

Error why_failed(const SendCounts &counts);
Error why_not_connected(const CmCounts &counts);
// The error for data that differs; QPs that failed are another error.
Error why_different(const VerifyCounts &counts);

} // namespace xr::cli
