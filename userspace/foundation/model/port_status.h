// SPDX-License-Identifier: Apache-2.0
// The programs on the XDP hook of an interface, and our attachment there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xr {

enum class Mode { Auto, Native, Skb, Hardware };
const char *mode_name(Mode mode); // as on the command line

struct HookProgram {
  uint32_t id = 0;
  std::string name; // "" without the privilege to read it
};

enum class AttachState {
  Attached,
  NotAttached, // no program of ours
  OffHook, // pinned, but its program is not on the interface: detached by another tool, or never
           // attached
  InterfaceGone, // pinned, but the interface or its namespace is gone
  OtherAbi,      // attached by a version with an incompatible map layout
  Unpinned,      // our program is on the interface, but its pins are not here
};
// The state as text, for people and for JSON.
const char *state_name(AttachState state);

struct PortStatus {
  std::string ifname;
  unsigned ifindex = 0;
  std::string netns; // name of the namespace, "" for none
  uint64_t netns_inode = 0;
  AttachState state = AttachState::NotAttached;
  bool up = false;      // set up
  bool running = false; // up, with carrier

  // The hook, whatever programs are on it.
  Mode mode = Mode::Auto;
  uint32_t hook_id = 0; // the program that the driver calls; 0: the hook is empty
  // True if hook_id is libxdp's dispatcher; otherwise our program is alone on the hook.
  bool dispatcher = false;
  std::vector<HookProgram> programs;

  // Our attachment.
  uint32_t program_id = 0;
  std::string alone;     // why no other program can join ours; "": others can join, or unknown
  uint32_t abi = 0;      // 0: unknown
  uint64_t since_ns = 0; // CLOCK_REALTIME
  bool track = false;
  bool frags = false;
  uint16_t udp_port = 0;
  uint64_t cnp_window_ns = 0;
  uint32_t features = 0;                // enum roce_feature
  uint32_t uses = 0;                    // enum roce_rule_uses
  uint32_t decap = 0;                   // 1 << enum roce_tunnel
  uint32_t quantum_ps = 0;              // 512 bits at its speed; 0: not known
  uint32_t side = 0;                    // ROCE_KEY_SIDE: part of the key of this port's streams
  unsigned peer_ifindex = 0;            // the other port of the bridge
  std::string peer;                     // its name, "" if it is gone
  std::vector<std::string> shared_with; // ports that count as one with this one
  uint32_t streams_capacity = 0;        // 0 without tracking
  uint32_t streams_used = 0;
  uint32_t pairs_capacity = 0; // QP pairs that can be followed or timed; 0: none are
  uint32_t follows_used = 0;   // QP pairs that are followed, and timed:
  uint32_t timings_used = 0;
  uint64_t map_bytes = 0; // kernel memory
};

// One attachment that was removed.
struct DetachReport {
  std::string ifname;
  std::string netns;
  std::string other; // the other port of the bridge, detached too
  std::vector<std::string> notes;
};

} // namespace xr
