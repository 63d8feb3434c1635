// SPDX-License-Identifier: Apache-2.0
// Three network namespaces in a row, joined by two veth pairs: senders, wire, receivers. They are
// this process's, and are removed with the object; what a killed process left is removed by the
// next one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "places/run_ports.h"

namespace xr::places {

class Lane {
public:
  static Result<Lane> make(uint32_t mtu);
  Lane(Lane &&other) noexcept;
  Lane &operator=(Lane &&) = delete;
  ~Lane();

  RunPorts ports() const;

private:
  Lane() = default;

  std::string senders_, wire_, receivers_; // "": not ours any more
};

// Removes the namespaces of runs whose process has ended, and the pins of those that a user, or a
// run with another bpffs, has deleted.
void remove_stale_lanes();

} // namespace xr::places
