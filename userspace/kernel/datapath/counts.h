// SPDX-License-Identifier: Apache-2.0
// Reads arrays of records, and per-CPU counters summed over CPUs.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include <linux/types.h>

#include <bpf/libbpf.h>

#include "base/result.h"

namespace xr::datapath {

// Reads `count` records of an array map from index `first` on. Returns 0 or an errno.
int read_batch(int fd, uint32_t first, uint32_t count, void *values, uint64_t elem_flags);

// T must consist of 64-bit counters only.
template <typename T> void add_counters(T &sum, const T &item) {
  static_assert(sizeof(T) % sizeof(__u64) == 0 && std::is_trivially_copyable_v<T>);
  auto *to = reinterpret_cast<__u64 *>(&sum);
  const auto *from = reinterpret_cast<const __u64 *>(&item);
  for (size_t i = 0; i < sizeof(T) / sizeof(__u64); i++)
    to[i] += from[i];
}

// The sums over CPUs of the first `count` records of a per-CPU array.
template <typename T> Result<std::vector<T>> sum_over_cpus(int fd, uint32_t count) {
  int cpus = libbpf_num_possible_cpus();
  if (cpus < 0)
    return errno_error(-cpus, "cannot read the number of CPUs");
  std::vector<T> sums(count), each(count * static_cast<size_t>(cpus));
  if (int error = read_batch(fd, 0, count, each.data(), 0))
    return errno_error(error, "cannot read the counters");
  for (size_t i = 0; i < each.size(); i++)
    add_counters(sums[i / static_cast<size_t>(cpus)], each[i]);
  return sums;
}

} // namespace xr::datapath
