// SPDX-License-Identifier: Apache-2.0
// `run merge`: the shares of a sweep as one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sweep/point.h"

namespace xr::sweep {

struct MergedSweep {
  std::string name;
  std::vector<SweepPoint> points; // by number
  std::vector<uint64_t> missing;  // numbers
  size_t twice = 0;               // points that several directories have: the first is taken
};

// What `run --out DIR` stored in these directories. Error: there is none, or they are not of one
// sweep.
Result<MergedSweep> merge_sweep(const std::vector<std::string> &directories);

} // namespace xr::sweep
