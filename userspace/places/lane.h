// SPDX-License-Identifier: Apache-2.0
// Three network namespaces in a row, joined by two veth pairs: senders, wire, receivers. They are
// this process's, and are removed with the object; what a killed process left is removed by the
// next one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace xr::places {

class Lane {
public:
  static constexpr const char *kSender = "tx0", *kLeft = "box0", *kRight = "box1",
                              *kReceiver = "rx0";

  static Result<Lane> make(uint32_t mtu);
  Lane(Lane &&other) noexcept;
  Lane &operator=(Lane &&) = delete;
  ~Lane();

  const std::string &senders() const { return senders_; } // names of namespaces
  const std::string &wire() const { return wire_; }
  const std::string &receivers() const { return receivers_; }

private:
  Lane() = default;

  std::string senders_, wire_, receivers_; // "": not ours any more
};

// Removes the namespaces of runs whose process has ended. Returns how many there were.
unsigned remove_stale_lanes();

} // namespace xr::places
