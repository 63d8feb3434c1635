// SPDX-License-Identifier: Apache-2.0
// XDP features of a driver, from the "netdev" family of generic netlink (Linux 6.3 and later).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace xr::host {

struct XdpFeatures {
  bool native = false;
  bool redirect = false;  // supports XDP_REDIRECT
  bool transmits = false; // accepts frames redirected to it
  bool zero_copy = false; // AF_XDP zero-copy
  bool frags = false;     // receives frames in several buffers
  bool transmits_frags = false;
  uint32_t zero_copy_frags = 0; // maximum buffers per frame; 0: unknown
  // What the driver gives XDP of a received frame, and does for a frame of an AF_XDP socket; unset:
  // unknown (before kernel 6.7, and 6.8).
  std::optional<bool> rx_time = {}, rx_hash = {}, tx_time = {}, launch_time = {};
};

// `body` is the body of a reply, including the generic header. Error: no features, or another
// interface.
Result<XdpFeatures> parse_xdp_features(std::string_view body, unsigned ifindex);

// Reads from the network namespace of the thread.
Result<XdpFeatures> read_xdp_features(unsigned ifindex);

} // namespace xr::host
