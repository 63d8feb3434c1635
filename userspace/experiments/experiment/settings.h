// SPDX-License-Identifier: Apache-2.0
// Values that replace those of an experiment file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace xr::experiment {

// Values of keys: of --set, or of one point of a sweep.
using Settings = std::vector<std::pair<std::string, std::string>>;
// "KEY=VALUE".
Result<std::pair<std::string, std::string>> parse_setting(const std::string &word);

} // namespace xr::experiment
