// SPDX-License-Identifier: Apache-2.0
// What is attached where, and whether it still is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/hook.h"
#include "datapath/maps.h"
#include "host/netns.h"

namespace xr::datapath {

// All attachments in all namespaces (in one, if it is named), alive or not, and programs of ours
// without pins in this namespace.
Result<std::vector<PortStatus>> status(const std::string &netns = "");

// The interfaces of that namespace, and no other, on which something of ours is or was: names only.
Result<std::vector<std::string>> pinned_interfaces(const std::string &netns);

// One interface, attached or not.
Result<PortStatus> status_of(const std::string &ifname, const std::string &netns);

// "alone on the XDP hook, ...": for a port whose `alone` is not "".
std::string alone_note(const PortStatus &port);
// "ABI 2, this is 1"
std::string abis(const PortStatus &port);

// For the rest of this folder, with the lock held. No namespace or an ifindex of 0: gone.
struct Inspected {
  PortStatus port;
  Maps maps;
  std::string directory; // of its pins, "" when this interface has none
};
Result<Inspected> inspect(const std::string &ifname, const host::Netns *netns, unsigned ifindex,
                          const Pins *pins);

// Is the attachment that `port` tells of still there? Its program may have been exchanged for
// another.
Result<bool> is_attached_still(const PortStatus &port);

// Why a port that is not attached, or not by us, cannot be read or changed.
Error not_readable(const PortStatus &port);

// The same by name, with the privilege checked and the lock taken: what every reader begins with.
Result<Inspected> look_up(const std::string &ifname, const std::string &netns);

} // namespace xr::datapath
