// SPDX-License-Identifier: Apache-2.0
// How a peer's tool exchanges its QPs: a TCP connection of the kernel's, or a QP of RDMA CM.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/fd.h"
#include "base/result.h"
#include "packet/frame.h"
#include "peer/perftest_exchange.h"

namespace xr::endpoint {

class Channel {
public:
  virtual ~Channel() = default;
  virtual Status write(const peer::Bytes &bytes) = 0;
  // Appends what has come, which may be nothing; waits some 20 ms for it. False: the other side has
  // closed it.
  virtual Result<bool> read(peer::Bytes &to) = 0;
};

// A socket that listens on `port` in the namespace of the calling thread. nullptr: all addresses.
Result<Fd> listen_tcp(const packet::Address *address, uint16_t port);
// The next connection, if there is one within some 20 ms; an Fd that is not open: there is none.
Result<Fd> accept_tcp(const Fd &listening, packet::Address &from);
// Tries until `stop`, or for ten seconds where nothing listens yet.
Result<Fd> connect_tcp(const packet::Address &address, uint16_t port,
                       const std::atomic<bool> &stop);
std::unique_ptr<Channel> tcp_channel(Fd fd);

} // namespace xr::endpoint
