// SPDX-License-Identifier: Apache-2.0
// The counters of a port compared with those of an RDMA NIC (`streams --nic`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xr {

struct NicEquation {
  std::string equation;         // "CE marks to it = np_ecn_marked_roce_packets"
  std::optional<uint64_t> wire; // empty: the port does not count this
  uint64_t nic = 0;
  std::string verdict; // "equal", "explained", "uncertain", "mismatch", "unseen"
  std::string note;
};

struct NicReport {
  std::string device; // "mlx5_0/1"
  std::string driver;
  double seconds = 0; // time over which both sides counted; 0: each since its own start
  std::vector<NicEquation> equations;
  std::string note; // about all equations
};

} // namespace xr
