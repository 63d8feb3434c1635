// SPDX-License-Identifier: Apache-2.0
// A port whose program redirects the frames for some addresses to AF_XDP sockets after counting
// them. Frames for other addresses go to the host.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/fd.h"
#include "base/port_name.h"
#include "base/result.h"
#include "datapath/feature_lease.h"
#include "datapath/rates_file.h"

namespace xr::datapath {

struct Endpoint {
  Address address{};
  bool neighbours = true; // also redirect ARP and neighbour discovery; false: the host answers them
  bool others = false;    // instead: all frames that no endpoint of the port takes
};

class Steering {
public:
  // One steering per port. An attached port gets its program exchanged for one that steers; any
  // other port is attached with `options` and detached at the end. Nothing is redirected before
  // add().
  static Result<Steering> open(const PortName &port, const AttachOptions &options,
                               const std::vector<Endpoint> &endpoints);
  Steering(Steering &&) noexcept = default;
  Steering &operator=(Steering &&) = delete;
  ~Steering();

  // Redirects frames of receive queue `queue` to AF_XDP socket `socket`. The kernel removes the
  // entry when the socket is closed.
  Status add(uint32_t queue, int socket);
  // The port also receives frames for other MACs during the lifetime of this object.
  Status go_promiscuous();

  // For the rates of the process that steers.
  RatesFile rates_file() const { return {lease_.netns_inode(), lease_.ifindex()}; }

  // Restores the port; returns the first failure.
  Status close();

  Mode mode() const { return mode_; }
  // Sentences for the user; close() may add one.
  const std::vector<std::string> &notes() const { return lease_.notes(); }

private:
  explicit Steering(FeatureLease lease) : lease_(std::move(lease)) {}

  FeatureLease lease_;
  Mode mode_ = Mode::Auto;
  Fd promiscuous_;
  Fd sockets_; // the XSK map
  std::vector<uint32_t> queues_;
};

} // namespace xr::datapath
