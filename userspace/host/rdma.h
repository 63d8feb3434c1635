// SPDX-License-Identifier: Apache-2.0
// RDMA devices, by /sys/class/infiniband: what they are, which interfaces they stand on, what they
// count. In the network namespace that /sys was mounted in.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "host/files.h"

namespace xr::host {

struct RdmaPort {
  std::string device;         // "mlx5_0"
  std::string number;         // "1"
  std::string driver;         // "mlx5", "irdma", "bnxt_re", "rxe", ...; "" when it cannot be told
  std::string pci;            // "0000:3b:00.0"; "" for a device without one
  bool iwarp = false;         // RDMA over TCP: no RoCE at all
  bool infiniband = false;    // its link layer; no RoCE either
  std::string state;          // "ACTIVE", "DOWN", "INIT", ...; "" when it cannot be read
  std::string physical_state; // "LinkUp", "Disabled", "Polling", ...
  std::string rate;           // "100 Gb/sec (4X EDR)"
  std::string firmware;       // of the device
  std::vector<std::string> interfaces;
  std::vector<std::string> gid_types; // of "RoCE v1" and "RoCE v2" those that it has
  std::string v1_name = "IB/RoCE v1"; // as this kernel writes it; some write "RoCE v1"
  std::vector<Address> addresses;     // of its v2 GIDs

  std::string name() const { return device + "/" + number; }
  std::string directory() const { return "/sys/class/infiniband/" + device + "/ports/" + number; }
  // Above an ordinary interface, whose XDP sees all that it receives.
  bool software() const { return driver == "rxe"; }
  bool roce() const { return !iwarp && !infiniband; }
  bool on(const std::string &ifname) const;
};

// Of a GID type or a default_roce_mode: kernels differ.
bool is_roce_v1(const std::string &name);

// Every port of every device.
std::vector<RdmaPort> read_rdma(const Files &files);

// "DEV" or "DEV/PORT"; the first port where none is named.
Result<RdmaPort> find_rdma(const Files &files, const std::string &name);

// Of hw_counters, those that are numbers.
using HwCounters = std::map<std::string, uint64_t>;
HwCounters read_hw_counters(const Files &files, const RdmaPort &port);

} // namespace xr::host
