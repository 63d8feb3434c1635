// SPDX-License-Identifier: Apache-2.0
// Congestion settings of a NIC: whether it answers CE marks with CNPs (NP) and reduces its rate on
// CNPs (RP), and the fields of its CNPs. Only mlx5 exposes them: the OFED driver in
// /sys/class/net/IF/ecn, the kernel's driver in debugfs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/files.h"
#include "host/rdma.h"

namespace xr::host {

struct Congestion {
  std::string from;              // directory of the settings
  std::optional<uint8_t> np, rp; // one bit per enabled priority
  std::optional<uint64_t> cnp_dscp, cnp_priority;
  std::optional<uint64_t> cnp_interval_us; // minimum interval
};

// nullopt if the driver does not expose them.
std::optional<Congestion> read_congestion(const Files &files, const RdmaPort &port,
                                          const std::string &ifname);

} // namespace xr::host
