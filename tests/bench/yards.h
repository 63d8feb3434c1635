// SPDX-License-Identifier: Apache-2.0
// The yardsticks' programs: loaded, put on ports, and what they have counted.
#pragma once

#include <cstdint>
#include <vector>

#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <yardsticks.skel.h>

#include "wires.h"

namespace xr::bench {

inline yardsticks *open_yard() {
  yardsticks *yard = yardsticks__open_and_load();
  if (!yard)
    fail("yardsticks");
  return yard;
}

inline void put_on(const char *port, const bpf_program *program) {
  if (bpf_xdp_attach(static_cast<int>(if_nametoindex(port)), bpf_program__fd(program),
                     XDP_FLAGS_DRV_MODE, nullptr))
    fail(port);
}

// Frames that `arrive` has counted.
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
