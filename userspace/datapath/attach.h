// SPDX-License-Identifier: Apache-2.0
// Puts the counter on an interface and takes it off. Every call checks privilege first, waits for
// the tool's lock, and may be killed at any moment: detach then cleans what is left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/status.h"

namespace xr::datapath {

struct Place;

struct AttachOptions {
  Mode mode = Mode::Auto;
  unsigned priority = 50; // among the programs of libxdp's dispatcher: lower runs first
  uint16_t udp_port = 4791;
  uint32_t streams = 65536;
  bool track = true;
  uint32_t ring_bytes = 1 << 20;   // for events; rounded up to a power of two
  bool frags = true;               // take frames in several buffers, if the kernel has them
  bool rules = false;              // ready for rules from the start: see exchange.h
  uint32_t features = 0;           // more of them: see ability.h
  uint64_t cnp_window_ns = 50'000; // a CNP is put down to a CE mark or NAK so recent
};

// What is possible at all.
Status check_options(const AttachOptions &options);

struct AttachReport {
  PortStatus port;
  std::vector<std::string> notes; // sentences that the user should see
};

Result<AttachReport> attach(const std::string &ifname, const std::string &netns,
                            const AttachOptions &options);

// Also cleans up after an interface that is gone, a stale pin, another ABI, a killed attach.
Result<DetachReport> detach(const std::string &ifname, const std::string &netns);
// For the rest of this folder: the same with the privilege checked and the lock held.
Result<AttachReport> attach_held(const std::string &ifname, const std::string &netns,
                                 const AttachOptions &options);
Result<DetachReport> detach_held(const Place &place);

// What status(netns) lists: every attachment in every namespace (in one, if it is named), and
// programs of ours without pins in this namespace.
Result<std::vector<DetachReport>> detach_all(const std::string &netns = "");

} // namespace xr::datapath
