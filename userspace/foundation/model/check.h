// SPDX-License-Identifier: Apache-2.0
// The result of one check by `doctor`.
#pragma once

#include <string>
#include <vector>

namespace xr {

enum class CheckVerdict { Ok, Info, Unknown, Warn, Fail };

struct Check {
  std::string group; // "kernel", "port", "roce"
  std::string name;  // a fixed short name, the same on every machine
  CheckVerdict verdict = CheckVerdict::Ok;
  std::string text;      // a sentence without a full stop
  std::string hint = {}; // what the user can do: a command where one exists
};
using Checks = std::vector<Check>;

} // namespace xr
