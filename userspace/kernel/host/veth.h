// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace xr::host {

// Creates a veth pair in the thread's network namespace and sets both ends up. Returns after both
// have carrier.
Status make_veth(const std::string &word, const std::string &other);

struct VethEnd {
  std::string ifname, netns;
};
// Makes a veth between two namespaces, with GRO at `far`: it takes frames that XDP redirects to it.
// Each end has `queues`.
Status make_veth(const VethEnd &near, const VethEnd &far, uint32_t mtu, uint32_t queues = 1);

} // namespace xr::host
