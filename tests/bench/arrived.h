// SPDX-License-Identifier: Apache-2.0
// How many frames the yardsticks' program has counted at the other end of a wire.
#pragma once

#include <cstdint>
#include <vector>

#include <bpf/libbpf.h>

#include <yardsticks.skel.h>

#include "wires.h"

namespace xr::bench {

inline uint64_t arrived(const yardsticks *yard) {
  std::vector<uint64_t> each(static_cast<size_t>(libbpf_num_possible_cpus()));
  const uint32_t zero = 0;
  uint64_t sum = 0;
  if (bpf_map__lookup_elem(yard->maps.packets, &zero, sizeof(zero), each.data(),
                           each.size() * sizeof(each[0]), 0))
    fail("count");
  for (const uint64_t one : each)
    sum += one;
  return sum;
}

} // namespace xr::bench
