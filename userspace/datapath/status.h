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
#include "datapath/netns.h"

namespace xr::datapath {

enum class State {
  Attached,
  NotAttached,   // nothing of ours
  OffHook,       // pinned, but its program is not on the interface: taken off, or never came
  InterfaceGone, // pinned, but the interface or its namespace went away
  OtherAbi,      // attached by a version whose maps we cannot read
  Unpinned,      // our program is on the interface, but its pins are not here
};
const char *state_name(State state); // in words, for people and for JSON

struct PortStatus {
  std::string ifname;
  unsigned ifindex = 0;
  std::string netns; // its name, "" for none
  uint64_t netns_inode = 0;
  State state = State::NotAttached;
  bool running = false; // up, with carrier

  // The hook, whatever is on it.
  Mode mode = Mode::Auto;
  uint32_t hook_id = 0;    // the program that the driver calls; 0: the hook is empty
  bool dispatcher = false; // that is libxdp's dispatcher; else our program is alone there
  std::vector<HookProgram> programs;

  // Ours.
  uint32_t program_id = 0;
  std::string alone;     // why no other program can join it; "": it can, or that is not known
  uint32_t abi = 0;      // 0: it cannot be told
  uint64_t since_ns = 0; // CLOCK_REALTIME
  bool track = false;
  bool frags = false;
  uint16_t udp_port = 0;
  uint64_t cnp_window_ns = 0;
  uint32_t features = 0;         // enum roce_feature
  uint32_t uses = 0;             // enum roce_rule_uses
  uint32_t side = 0;             // ROCE_KEY_SIDE: streams of this port have it in their keys
  unsigned peer_ifindex = 0;     // a bridge's other port
  std::string peer;              // its name, "" when it is gone
  uint32_t streams_capacity = 0; // 0 without tracking
  uint32_t streams_used = 0;
  uint64_t map_bytes = 0; // of kernel memory
};

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
// "2024-05-01 12:00:00" in local time.
std::string local_time(uint64_t realtime_ns);

// For the rest of this folder, with the lock held. No namespace or an ifindex of 0: gone.
struct Inspected {
  PortStatus port;
  Maps maps;
  std::string directory; // of its pins, "" when this interface has none
};
Result<Inspected> inspect(const std::string &ifname, const Netns *netns, unsigned ifindex,
                          const Pins *pins);

// Is the attachment that `port` tells of still there? Its program may have been exchanged for
// another.
Result<bool> is_attached_still(const PortStatus &port);

// Why a port that is not attached, or not by us, cannot be read or changed.
Error not_readable(const PortStatus &port);

// The same by name, with the privilege checked and the lock taken: what every reader begins with.
Result<Inspected> look_up(const std::string &ifname, const std::string &netns);

} // namespace xr::datapath
