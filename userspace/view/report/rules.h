// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/rules.h"
#include "report/document.h"

namespace xr::report {

// The rules and peers of a port as `impair list` shows them. `peers` are already text.
Document rules_report(const std::string &ifname, const std::vector<RuleRow> &rules,
                      const std::vector<std::string> &peers);

} // namespace xr::report
