// SPDX-License-Identifier: Apache-2.0
// What is on the XDP hook of an interface, and the attachment of this tool there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xr {

enum class Mode { Auto, Native, Skb, Hardware };
const char *mode_name(Mode mode); // as on the command line

struct HookProgram {
  uint32_t id = 0;
  std::string name; // "" without the privilege to ask
};

enum class AttachState {
  Attached,
  NotAttached,   // nothing of ours
  OffHook,       // pinned, but its program is not on the interface: taken off, or never came
  InterfaceGone, // pinned, but the interface or its namespace went away
  OtherAbi,      // attached by a version whose maps we cannot read
  Unpinned,      // our program is on the interface, but its pins are not here
};
// In words, for people and for JSON.
const char *state_name(AttachState state);

struct PortStatus {
  std::string ifname;
  unsigned ifindex = 0;
  std::string netns; // its name, "" for none
  uint64_t netns_inode = 0;
  AttachState state = AttachState::NotAttached;
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

// An attachment that was taken off.
struct DetachReport {
  std::string ifname;
  std::string netns;
  std::string other; // a bridge's other port, detached with it
  std::vector<std::string> notes;
};

} // namespace xr
