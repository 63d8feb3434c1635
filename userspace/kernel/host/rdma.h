// SPDX-License-Identifier: Apache-2.0
// RDMA devices from /sys/class/infiniband: type, interfaces and counters. They are those of the
// network namespace in which /sys was mounted.
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
  std::string driver;         // "mlx5", "irdma", "bnxt_re", "rxe", ...; "": unknown
  std::string pci;            // "0000:3b:00.0"; "": not a PCI device
  bool iwarp = false;         // RDMA over TCP, not RoCE
  bool infiniband = false;    // InfiniBand link layer, not RoCE
  std::string state;          // "ACTIVE", "DOWN", "INIT", ...; "": unreadable
  std::string physical_state; // "LinkUp", "Disabled", "Polling", ...
  std::string rate;           // "100 Gb/sec (4X EDR)"
  std::string firmware;       // of the device
  std::vector<std::string> interfaces;
  std::vector<std::string> gid_types; // "RoCE v1", "RoCE v2" or both
  std::string v1_name = "IB/RoCE v1"; // name in this kernel; others use "RoCE v1"
  std::vector<Address> addresses;     // of the v2 GIDs, network order

  std::string name() const { return device + "/" + number; }
  std::string directory() const { return "/sys/class/infiniband/" + device + "/ports/" + number; }
  // A software device on an ordinary interface, whose XDP program sees all received packets.
  bool software() const { return driver == "rxe"; }
  bool roce() const { return !iwarp && !infiniband; }
  bool on(const std::string &ifname) const;
};

// `name` is a GID type or default_roce_mode; its spelling depends on the kernel.
bool is_roce_v1(const std::string &name);

// All ports of all devices.
std::vector<RdmaPort> read_rdma(const Files &files);

// `name` is "DEV" or "DEV/PORT"; default: the first port.
Result<RdmaPort> find_rdma(const Files &files, const std::string &name);

// The numeric files in hw_counters.
using HwCounters = std::map<std::string, uint64_t>;
HwCounters read_hw_counters(const Files &files, const RdmaPort &port);

} // namespace xr::host
