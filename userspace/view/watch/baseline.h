// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/rules.h"
#include "model/snapshot.h"

namespace xr::watch {

// The counters since `base`. Streams keep their index, also those without a packet since then;
// counters that were reset in between count from the reset. `filled` is limited to `skipped`: a
// hole older than `base` may have been filled since, and `missing` must not be negative.
Snapshot difference_since(const Snapshot &now, const Snapshot &base);
std::vector<RuleRow> difference_since(const std::vector<RuleRow> &now,
                                      const std::vector<RuleRow> &base);

} // namespace xr::watch
