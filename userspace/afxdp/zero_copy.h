// SPDX-License-Identifier: Apache-2.0
// AF_XDP without copying, on one port: what the driver says of it, and what a socket gets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/netdev_family.h"

namespace xr::afxdp {

// Buffers that a zero-copy socket needs for the ring of a receive queue; 0: the driver is known to
// have no zero-copy, or says nothing of a ring. In the namespace that the thread is in.
uint32_t zero_copy_ring(const std::string &ifname, const Result<host::XdpFeatures> &xdp);

struct ZeroCopyPort {
  std::string ifname, driver;
  uint32_t mtu = 0;
  uint32_t longest = 0; // bytes of the longest frame
};

// What the driver says of itself is enough to know that sockets copy there.
std::optional<Error> known_to_copy(const ZeroCopyPort &port, const Result<host::XdpFeatures> &xdp);

// Why a socket that asked for either copies. `cannot_send`: the kernel gave zero-copy, and the
// driver did not send.
Error why_copied(const ZeroCopyPort &port, const Result<host::XdpFeatures> &xdp, bool cannot_send);

struct ZeroCopyTrial {
  bool zero_copy = false;
  Error why; // it copies
};

// Binds a socket to queue 0 and closes it: in zero-copy the driver restarts the queue, twice. An
// error: no socket could be had. In the namespace that the thread is in.
Result<ZeroCopyTrial> try_zero_copy(const ZeroCopyPort &port, const Result<host::XdpFeatures> &xdp);

} // namespace xr::afxdp
