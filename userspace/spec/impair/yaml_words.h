// SPDX-License-Identifier: Apache-2.0
// Converts the map form of a rule to the equivalent words.
#pragma once

#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/result.h"

namespace xr::impair {

// `rule` is {match: ..., select: ..., action: ..., limit: 5, name: x}, or a string of words.
Result<std::vector<std::string>> words_of(const YAML::Node &rule);

} // namespace xr::impair
