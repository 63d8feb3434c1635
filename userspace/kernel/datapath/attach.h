// SPDX-License-Identifier: Apache-2.0
// Attaches the XDP program to an interface and detaches it. Every call first checks the privilege,
// then waits for the exclusive lock (lock.h). It may be killed at any moment: detach cleans up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/port_name.h"
#include "base/result.h"
#include "datapath/status.h"

namespace xr::datapath {

struct Place;

struct AttachOptions {
  Mode mode = Mode::Auto;
  unsigned priority = 50; // order in libxdp's dispatcher: lower runs first
  uint16_t udp_port = 4791;
  uint32_t streams = 65536; // capacity of the stream table
  bool track = true;
  uint32_t ring_bytes = 1 << 20; // size of the event ring; rounded up to a power of two
  bool frags = true;             // accept frames in several buffers, if the kernel supports it
  std::string one_with;          // an attached port: this one adds to its counts and streams
  bool rules = false;            // load the program with rules from the start: see exchange.h
  uint32_t features = 0;         // further enum roce_feature bits: see feature_lease.h
  uint32_t uses = 0;             // with features of rules: enum roce_rule_uses, of those to come
  bool alone = false;    // without libxdp's dispatcher, which is slower: no other program can join
  bool classes = false;  // count by DSCP and PCP
  bool follow = false;   // QP pairs, for episodes
  bool latency = false;  // time QP pairs
  bool job = false;      // bursts by pair of hosts
  uint32_t pairs = 4096; // QP pairs that can be followed, and timed
  uint32_t decap = 0; // tunnels to take off before counting: 1 << enum roce_tunnel; not with rules
  uint64_t cnp_window_ns = 50'000; // a CNP's cause is a CE mark or NAK at most this long before
};

// Error if a value is out of range, whatever the port.
Status check_options(const AttachOptions &options);

struct AttachReport {
  PortStatus port;
  std::vector<std::string> notes; // sentences for the user
};

Result<AttachReport> attach(const PortName &port, const AttachOptions &options);

// Also cleans up pins of a deleted interface, of another ABI and of a killed attach.
Result<DetachReport> detach(const PortName &port);
// For this folder only: the same; the caller has checked the privilege and holds the lock.
Result<AttachReport> attach_held(const PortName &port, const AttachOptions &options);
Result<DetachReport> detach_held(const Place &place);

// Detaches what status(netns) lists: all attachments in all namespaces (only in `netns` if it is
// not empty), and our programs without pins in the caller's namespace (or in `netns`).
Result<std::vector<DetachReport>> detach_all(const std::string &netns = "");

} // namespace xr::datapath
