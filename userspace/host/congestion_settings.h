// SPDX-License-Identifier: Apache-2.0
// What a NIC does about congestion: who answers CE marks with CNPs (NP), who heeds CNPs (RP), and
// how CNPs look. mlx5 tells: the OFED driver in /sys/class/net/IF/ecn, the kernel's own in debugfs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/files.h"
#include "host/rdma.h"

namespace xr::host {

struct Congestion {
  std::string from;              // the directory
  std::optional<uint8_t> np, rp; // a bit a priority where it is on
  std::optional<uint64_t> cnp_dscp, cnp_priority;
  std::optional<uint64_t> cnp_interval_us; // at least, between two
};

// Nothing where the driver does not tell.
std::optional<Congestion> read_congestion(const Files &files, const RdmaPort &port,
                                          const std::string &ifname);

} // namespace xr::host
