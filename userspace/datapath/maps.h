// SPDX-License-Identifier: Apache-2.0
// The open maps of one attachment, by name, wherever they were found.
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
  // Whichever of them can be opened.
  static Maps of_pins(const Pins &pins, bool next = false); // with those about to take over
  static Maps of_program(int program_fd);

  int fd(const std::string &name) const; // -1 if it is not there
  std::vector<uint32_t> ids() const;
  uint64_t memory() const; // bytes of kernel memory

  // What the program was loaded with. Of another ABI only `abi` means something.
  std::optional<roce_config> config() const;
  uint32_t streams_used() const;

private:
  std::map<std::string, Fd> fds_;
};

// The pin's name of a map: "rodata" for libbpf's "xdp_roce.rodata" (bpffs allows no dots).
std::string pin_name(const std::string &map_name);

uint32_t map_id(int fd);                       // 0: none
uint32_t program_id(int fd);                   // 0: none
std::vector<uint32_t> program_map_ids(int fd); // of a program
std::string program_name(int fd);              // as the kernel has it: 15 characters

} // namespace xr::datapath
