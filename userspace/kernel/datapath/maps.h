// SPDX-License-Identifier: Apache-2.0
// The open maps of one attachment, by name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "datapath/pins.h"
#include "roce/config.h"

namespace xr::datapath {

class Maps {
public:
  Maps() = default;
  // All maps that can be opened. `next`: prefer the maps of an exchange in progress (Pins::kNext).
  static Maps of_pins(const Pins &pins, bool next = false);
  static Maps of_program(int program_fd);

  int fd(const std::string &name) const; // -1 if there is no such map
  std::vector<uint32_t> ids() const;
  uint64_t memory() const; // bytes of kernel memory

  // The program's configuration. If its ABI differs, only `abi` is valid.
  std::optional<roce_config> config() const;
  roce_shared shared() const; // zeros if it cannot be read

private:
  std::map<std::string, Fd> fds_;
};

// The name of a map's pin: "rodata" for libbpf's "xdp_roce.rodata" (bpffs allows no dots).
std::string pin_name(const std::string &map_name);

uint32_t map_id(int fd);                       // 0 on error
uint32_t program_id(int fd);                   // 0 on error
std::vector<uint32_t> program_map_ids(int fd); // ids of the maps that the program uses
std::string program_name(int fd);              // the kernel's, at most 15 characters

} // namespace xr::datapath
