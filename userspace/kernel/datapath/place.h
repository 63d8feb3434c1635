// SPDX-License-Identifier: Apache-2.0
// Finds the interface that a user names, its namespace and its pins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/port_name.h"
#include "base/result.h"
#include "datapath/pins.h"
#include "host/netns.h"

namespace xr::datapath {

struct Place {
  std::string ifname;
  std::optional<host::Netns> netns; // none: deleted
  unsigned ifindex = 0;             // 0: deleted
  std::optional<Pins> pins;         // of this interface
  std::vector<Pins> stale;          // of deleted interfaces of that name

  const host::Netns *namespace_or_null() const { return netns ? &*netns : nullptr; }
  // The interface's pins; if it is deleted, its stale pins; else null.
  const Pins *best_pins() const {
    return pins ? &*pins : !ifindex && !stale.empty() ? &stale.front() : nullptr;
  }
};

// Finds the interface, or stale pins with its name, or both. Error if there is neither.
Result<Place> find_place(const PortName &port, const std::optional<Bpffs> &bpffs);

// The interface of these pins, by number, because it may be renamed.
Place place_of(const Pins &pins);

// The other port of the bridge of these pins, without its configuration, which another ABI may have
// elsewhere: both were made promiscuous and have a map in common. 0: none.
unsigned bridged_ifindex(const Bpffs &bpffs, const Pins &pins);

// The interface's current name, "" if it is deleted.
std::string interface_name(const host::Netns &netns, unsigned ifindex);

} // namespace xr::datapath
