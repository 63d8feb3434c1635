// SPDX-License-Identifier: Apache-2.0
// Rules as a document.
#pragma once

#include <string>

#include "datapath/rules.h"
#include "report/document.h"

namespace xr::cli {

report::Document impairments_report(const std::string &ifname, const datapath::RuleList &list);

} // namespace xr::cli
