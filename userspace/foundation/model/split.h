// SPDX-License-Identifier: Apache-2.0
// What was written when a capture was divided into files.
#pragma once

#include <cstdint>
#include <string>

namespace xr {

struct SplitReport {
  std::string directory;
  uint64_t files = 0, frames = 0;
  uint64_t left_out = 0; // of streams or intervals beyond the largest number of files
};

} // namespace xr
