// SPDX-License-Identifier: Apache-2.0
// What a check of the machine found: what doctor's report is made of.
#pragma once

#include <string>
#include <vector>

namespace xr {

enum class Verdict { Ok, Info, Unknown, Warn, Fail };

struct Check {
  std::string group; // "kernel", "port", "roce"
  std::string name;  // one of a few words, the same on every machine
  Verdict verdict = Verdict::Ok;
  std::string text;      // a sentence without its final stop
  std::string hint = {}; // what to do about it: a command where one exists
};
using Checks = std::vector<Check>;

} // namespace xr
