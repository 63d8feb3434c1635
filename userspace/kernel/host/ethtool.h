// SPDX-License-Identifier: Apache-2.0
// ETHTOOL commands by ioctl, in the network namespace of the thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xr::host {

// Returns 0 or more, or a negative errno value. `command` is a struct of <linux/ethtool.h>.
int ethtool(const std::string &ifname, void *command);

// The commands of one interface; tests have a NIC of their own.
using Ethtool = std::function<int(void *command)>;
Ethtool ethtool_of(std::string ifname);

// A command struct with a tail of variable length, aligned for the struct.
class EthtoolCommand {
public:
  explicit EthtoolCommand(size_t size) : words_((size + 7) / 8) {}
  template <typename T> T *as() { return reinterpret_cast<T *>(words_.data()); }

private:
  std::vector<uint64_t> words_;
};

} // namespace xr::host
