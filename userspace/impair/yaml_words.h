// SPDX-License-Identifier: Apache-2.0
// The map form of a rule, turned into the words that mean the same.
#pragma once

#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/result.h"

namespace xr::impair {

// An error with the line of `node` before it: "3: ...".
Error at_line(const YAML::Node &node, const Error &error);

// {match: ..., select: ..., action: ..., limit: 5, name: x}, or a string of words.
Result<std::vector<std::string>> rule_words(const YAML::Node &rule);

} // namespace xr::impair
