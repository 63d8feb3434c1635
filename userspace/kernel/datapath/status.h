// SPDX-License-Identifier: Apache-2.0
// The status of attachments.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/port_name.h"
#include "base/result.h"
#include "datapath/hook.h"
#include "datapath/maps.h"
#include "host/netns.h"

namespace xr::datapath {

// All attachments in all namespaces (only in `netns` if it is not empty), living and stale, and our
// programs without pins in the caller's namespace (or in `netns`).
Result<std::vector<PortStatus>> status(const std::string &netns = "");

// Names of the interfaces of this namespace that have pins, living or stale.
Result<std::vector<std::string>> pinned_interfaces(const std::string &netns);
// Names of the namespaces whose interfaces have pins; some may be deleted by now.
std::set<std::string> pinned_netns_names();

// The status of one interface, attached or not.
Result<PortStatus> status_of(const PortName &port);

// "alone on the XDP hook; ...": for a port whose `alone` is not "".
std::string alone_note(const PortStatus &port);
// The port's ABI and ours: "ABI 2, this is 1".
std::string abis(const PortStatus &port);

// For this folder only; the caller holds the lock. Null `netns` or ifindex 0: the interface is
// deleted.
struct Inspected {
  PortStatus port;
  Maps maps;
  std::string directory; // of its pins; "": no pins
};
Result<Inspected> inspect(const std::string &ifname, const host::Netns *netns, unsigned ifindex,
                          const Pins *pins);

// Whether the attachment described by `port` still exists. Its program may have been exchanged.
Result<bool> is_still_attached(const PortStatus &port);

// The error for a port that cannot be read or changed because of its state.
Error not_readable(const PortStatus &port);

// inspect() by name; checks the privilege and takes the shared lock. Every reader starts with it.
Result<Inspected> look_up(const PortName &port);

} // namespace xr::datapath
