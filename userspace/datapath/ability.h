// SPDX-License-Identifier: Apache-2.0
// What a port's program is given for as long as somebody wants it, and loses again.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "datapath/lock.h"
#include "datapath/place.h"
#include "datapath/status.h"

namespace xr::datapath {

// A port and what there is of it, with the lock held.
struct Held {
  Lock lock;
  Place place;
  PortStatus port;
};
Result<Held> hold(const std::string &ifname, const std::string &netns);

struct Ability {
  uint32_t feature = 0; // enum roce_feature
  const char *what;     // "a program with ..."
  const char *who;      // wants it, and attaches where nothing is
};
// The program is exchanged for one that has it, or has it not, unless that is so already. The port
// is attached.
Status enable(Held &held, const Ability &ability);
Status disable(Held &held, const Ability &ability);

} // namespace xr::datapath
