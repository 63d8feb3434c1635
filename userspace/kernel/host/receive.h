// SPDX-License-Identifier: Apache-2.0
// How a device brings frames to its receive queues (ethtool). What the driver has not is unset.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/ethtool.h"

namespace xr::host {

struct Coalescing {
  uint32_t rx_usecs = 0, rx_frames = 0;
  bool adaptive_rx = false, adaptive_tx = false;
};
struct Rings {
  uint32_t rx = 0, most_rx = 0, tx = 0, most_tx = 0;
};
struct ReceiveSettings {
  std::optional<Coalescing> coalescing;
  std::optional<Rings> rings;
  std::optional<std::vector<uint32_t>> rss; // the queue of each entry of the indirection table
  std::optional<bool> hashes_ports;         // RSS: of UDP over IPv4, beside the addresses
  std::optional<uint32_t> flow_rules;       // how many are set
};
ReceiveSettings read_receive_settings(const Ethtool &ethtool);

} // namespace xr::host
