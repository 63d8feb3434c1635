// SPDX-License-Identifier: Apache-2.0
// For this folder only: the text of an Open Traffic Generator configuration.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "otg/object.h"

namespace xr::importers {

// JSON, else YAML (1.2, core schema). `name` is in front of errors.
Result<otg::Json> otg_json(const std::string &text, const std::string &name);

// Keys that are there and mean something to a port of the machine, but nothing to an experiment:
// each once, without indexes.
std::vector<std::string> keys_without_effect(const otg::Json &config);

} // namespace xr::importers
