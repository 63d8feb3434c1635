// SPDX-License-Identifier: Apache-2.0
// The map form of a rule, turned into the words that mean the same.
#pragma once

#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/result.h"

namespace xr::impair {

// {match: ..., select: ..., action: ..., limit: 5, name: x}, or a string of words.
Result<std::vector<std::string>> rule_words(const YAML::Node &rule);

} // namespace xr::impair
