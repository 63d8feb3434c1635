// SPDX-License-Identifier: Apache-2.0
// Options of `tc qdisc ... netem` (tc-netem(8)) as rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::importers {

// What does to a frame what netem with these options does.
struct Imported {
  std::vector<std::string> rules; // words of `impair IF add`, in their order
  std::string link;               // words of `link`, "": none
  std::vector<std::string> notes; // what is not quite the same
};

// `options`: "delay 10ms 2ms loss gemodel 1% 30%"; a `netem` in front is passed over. Times without
// a unit are microseconds, as for tc. What has no equivalent is an error that names it.
Result<Imported> netem(std::string_view options);

} // namespace xr::importers
