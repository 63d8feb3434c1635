// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/rules.h"
#include "report/document.h"

namespace xr::report {

// The rules of a port and its peers, which are in words already, as `impair list` shows them.
Document rules_report(const std::string &ifname, const std::vector<RuleRow> &rules,
                      const std::vector<std::string> &peers);

} // namespace xr::report
