// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/setup_check.h"
#include "report/document.h"

namespace xr::report {

// `files`: the captures, if there are several.
void add_checks(Document &document, const std::vector<SetupCheck> &checks,
                const std::vector<std::string> &files);

// The checks of a port.
Document checks_report(const std::string &ifname, const std::vector<SetupCheck> &checks);

} // namespace xr::report
