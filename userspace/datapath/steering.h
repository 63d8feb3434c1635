// SPDX-License-Identifier: Apache-2.0
// A port whose program hands the frames of some addresses to AF_XDP sockets, once it has counted
// them. What other addresses get stays the host's.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/fd.h"
#include "base/result.h"
#include "datapath/ability.h"

namespace xr::datapath {

struct Endpoint {
  Address address{};
  bool neighbours = true; // ARP and neighbour discovery too, which the host does else
};

class Steering {
public:
  // A port has one at a time. One that has a program keeps it, exchanged for one that steers; else
  // it is attached with `options`, and detached at the end. Nothing is handed over before add().
  static Result<Steering> open(const std::string &ifname, const std::string &netns,
                               const AttachOptions &options,
                               const std::vector<Endpoint> &endpoints);
  Steering(Steering &&) noexcept = default;
  Steering &operator=(Steering &&) = delete;
  ~Steering();

  // Frames of that receive queue go to this socket. The kernel takes it out when it is closed.
  Status add(uint32_t queue, int socket);
  // Frames to other MACs come in too, as long as this lives.
  Status go_promiscuous();

  // As it was before; what could not be done is told.
  Status close();

  Mode mode() const { return mode_; }
  // One more may come with close().
  const std::vector<std::string> &notes() const { return lease_.notes(); }

private:
  explicit Steering(Lease lease) : lease_(std::move(lease)) {}

  Lease lease_;
  Mode mode_ = Mode::Auto;
  Fd promiscuous_;
  Fd sockets_; // the map
  std::vector<uint32_t> queues_;
};

} // namespace xr::datapath
