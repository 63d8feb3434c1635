// SPDX-License-Identifier: Apache-2.0
// Whether AF_XDP sockets on a port work in zero-copy mode: what the driver announces, and a trial.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/netdev_family.h"

namespace xr::afxdp {

// Buffers of the driver's RX ring per queue, for SocketOptions::rx_ring. 0: the driver has no
// zero-copy, or reports neither zero-copy nor a ring. In the thread's network namespace.
uint32_t zero_copy_ring(const std::string &ifname, const Result<host::XdpFeatures> &xdp);

// Whether the NIC's receive buffers are whole kilobytes: with less room in a chunk, its driver cuts
// a frame in two without a word (igb, igc), or loses it (ixgbe's 82599).
bool takes_kilobytes(const std::string &driver);

struct ZeroCopyPort {
  std::string ifname, driver;
  uint32_t mtu = 0;
  uint32_t longest = 0; // bytes of the longest frame, FCS not included
};

// Why sockets copy on this port, if the driver's features already show it; else nothing.
std::optional<Error> known_to_copy(const ZeroCopyPort &port, const Result<host::XdpFeatures> &xdp);

// Why a socket is in copy mode. `cannot_send`: the kernel accepted zero-copy but the driver refused
// to send (Socket::zero_copy_cannot_send).
Error why_copied(const ZeroCopyPort &port, const Result<host::XdpFeatures> &xdp, bool cannot_send);

struct ZeroCopyTrial {
  bool zero_copy = false;
  Error why; // why not, if not zero_copy
};

// Binds a socket to queue 0 and closes it; with zero-copy the driver restarts the queue twice.
// Error if no socket can be bound. In the thread's network namespace.
Result<ZeroCopyTrial> try_zero_copy(const ZeroCopyPort &port, const Result<host::XdpFeatures> &xdp);

} // namespace xr::afxdp
