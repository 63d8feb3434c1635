// SPDX-License-Identifier: Apache-2.0
// What a driver's XDP can do, by the kernel's "netdev" family of generic netlink (6.3 and later).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace xr::host {

struct XdpFeatures {
  bool native = false;
  bool redirect = false;  // a program may send frames elsewhere
  bool transmits = false; // frames of other ports may leave here
  bool zero_copy = false; // AF_XDP without copying
  bool frags = false;     // takes frames in several buffers
  bool transmits_frags = false;
  uint32_t zero_copy_frags = 0; // buffers of one frame at most; 0: not told
};

// The body of an answer, its generic header included; of another interface, or none: an error.
Result<XdpFeatures> parse_xdp_features(std::string_view body, unsigned ifindex);

// In the namespace that the thread is in.
Result<XdpFeatures> read_xdp_features(unsigned ifindex);

} // namespace xr::host
