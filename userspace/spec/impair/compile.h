// SPDX-License-Identifier: Apache-2.0
// The parts of a rule's form for the datapath.
#pragma once

#include <vector>

#include "impair/rule.h"

namespace xr::impair {

void compile_match(const RuleSpec &spec, Rule &to);

// Distances as 1024 quantiles, from which the datapath picks at random; or the table's.
std::vector<uint32_t> points_of(const Distance &distance);

} // namespace xr::impair
