// SPDX-License-Identifier: Apache-2.0
// The processors that this process may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace xr {

// The numbers, ascending, of those on which the calling thread may run (sched_getaffinity, so that
// cpusets and `taskset` are respected). Empty: the kernel does not say.
std::vector<uint32_t> allowed_processors();

// How many threads keep them busy: as many as allowed_processors(), but not more than the time that
// control groups grant. At least 1.
uint32_t processor_count();

// Time that control groups grant in each unit of time: the least quota of a group and those above
// it, of cpu.max (version 2) or cpu.cfs_quota_us (version 1). `groups`: the text of
// /proc/self/cgroup; `root`: where control groups are mounted. None: no quota.
std::optional<double> granted_processors(const std::string &groups, const std::string &root);

// "0-3,8", as `taskset -c` and the kernel write it, in its order and without repetitions.
Result<std::vector<uint32_t>> parse_processors(const std::string &text);

// Where a thread runs.
struct PlacedThread {
  std::optional<uint32_t> processor; // on which it stays; none: where the kernel puts it
  std::string why;
};

// The calling thread runs on this processor only, from now on.
Status stay_on(uint32_t processor);

} // namespace xr
