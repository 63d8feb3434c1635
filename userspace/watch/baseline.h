// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/rules.h"
#include "model/snapshot.h"

namespace xr::watch {

// What was counted since `base`. Streams stay where they are, those without a packet since too;
// what began anew meanwhile counts from its beginning. A hole that is older than `base` and was
// filled since is no filled PSN: missing would be less than none.
Snapshot since(const Snapshot &now, const Snapshot &base);
std::vector<RuleRow> since(const std::vector<RuleRow> &now, const std::vector<RuleRow> &base);

} // namespace xr::watch
