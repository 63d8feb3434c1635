// SPDX-License-Identifier: Apache-2.0
// flows[]: frames of any headers, at a rate, for a while.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xr::otg {

struct PlainFlow {
  std::string name;
  size_t tx_port = 0;
  std::vector<size_t> rx_ports;
};

} // namespace xr::otg
