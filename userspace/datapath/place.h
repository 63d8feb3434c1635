// SPDX-License-Identifier: Apache-2.0
// From what a user names, an interface and perhaps a namespace, to what there is of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/pins.h"
#include "host/netns.h"

namespace xr::datapath {

struct Place {
  std::string ifname;
  std::optional<host::Netns> netns; // none: gone
  unsigned ifindex = 0;             // 0: gone
  std::optional<Pins> pins;         // of this very interface
  std::vector<Pins> stale;          // of former interfaces of that name, now gone

  const host::Netns *namespace_or_null() const { return netns ? &*netns : nullptr; }
  // Those of the interface, or, if it is gone, what is left of it.
  const Pins *best_pins() const {
    return pins ? &*pins : !ifindex && !stale.empty() ? &stale.front() : nullptr;
  }
};

// An interface or pins, or both; neither is an error.
Result<Place> find_place(const std::string &ifname, const std::string &netns,
                         const std::optional<Bpffs> &bpffs);

// Where those pins are, whatever the interface is called by now.
Place place_of(const Pins &pins);

// The interface's name now, "" when it is gone.
std::string interface_name(const host::Netns &netns, unsigned ifindex);

} // namespace xr::datapath
