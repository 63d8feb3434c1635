// SPDX-License-Identifier: Apache-2.0
// The block of a report that says what ran, where and when.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/run_facts.h"
#include "report/document.h"

namespace xr::report {

// Key `run`, JSON only.
Section run_section(const RunFacts &facts);

// The facts for people: names and values, without those that are not known.
std::vector<std::pair<std::string, std::string>> run_lines(const RunFacts &facts);

} // namespace xr::report
