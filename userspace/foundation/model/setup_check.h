// SPDX-License-Identifier: Apache-2.0
// The verdict on one part of the set-up of hosts, NICs and switches (analyze --check).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xr {

struct SetupCheck {
  // The metric has these numbers. Unknown: what was captured cannot decide it; `value` has the
  // reason.
  enum class Status : uint8_t { Ok, Warn, Fail, Unknown };

  std::string name;
  Status status = Status::Unknown;
  std::string value, bound;
  std::string why;                   // it matters, with the source
  std::string change;                // what, and where
  std::vector<uint64_t> frames = {}; // evidence, numbered as those of findings (kFileShift)
};

inline constexpr const char *kCheckStatusNames[] = {"ok", "warn", "fail", "unknown"};

} // namespace xr
