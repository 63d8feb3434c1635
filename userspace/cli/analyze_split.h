// SPDX-License-Identifier: Apache-2.0
// `analyze --split-by`: the capture divided into files.
#pragma once

#include <optional>
#include <string>

#include "analysis/analyzer.h"
#include "capture/splitter.h"
#include "cli/options.h"

namespace xr::cli {

struct SplitArgs {
  std::string by, to, every;
  uint64_t every_ns = 0; // by check_split()
};

void add_split_options(Command command, SplitArgs &args);

// Reads the options; no file is touched.
Status check_split(SplitArgs &args);

// nullopt: not asked for.
Result<std::optional<Splitter>> open_splitter(const SplitArgs &args);

} // namespace xr::cli
