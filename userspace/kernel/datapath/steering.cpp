// SPDX-License-Identifier: Apache-2.0
#include "datapath/steering.h"
#include "datapath/map_names.h"

#include <fcntl.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <bpf/bpf.h>

#include <fmt/format.h>

#include "host/netns.h"
#include "roce/steer.h"

namespace xr::datapath {

namespace {

constexpr LeasedFeature kSteer = {ROCE_FEATURE_SOCKETS, "the endpoint", Lock::Use::Endpoint};

Status clear_endpoints(int map) {
  roce_endpoint key{};
  while (bpf_map_get_next_key(map, nullptr, &key) == 0)
    if (bpf_map_delete_elem(map, &key) < 0)
      return errno_error(errno, "cannot remove the addresses of a previous endpoint");
  return {};
}

Status write_endpoints(int map, const std::vector<Endpoint> &endpoints) {
  if (auto done = clear_endpoints(map); !done)
    return done;
  for (const Endpoint &endpoint : endpoints) {
    roce_endpoint key{};
    uint32_t value = ROCE_STEER_OTHERS;
    if (!endpoint.others) {
      std::ranges::copy(endpoint.address, key.address);
      value = endpoint.neighbours ? ROCE_STEER_ROCE | ROCE_STEER_NEIGHBOURS : ROCE_STEER_ROCE;
    }
    if (bpf_map_update_elem(map, &key, &value, 0) < 0)
      return errno_error(
          errno, fmt::format("cannot write the endpoint's addresses (at most {})", ROCE_ENDPOINTS));
  }
  return {};
}

} // namespace

Result<Steering> Steering::open(const PortName &port, const AttachOptions &options,
                                const std::vector<Endpoint> &endpoints) {
  auto lease = XR_TRY(FeatureLease::take(port, kSteer, options));
  Steering self(std::move(lease));
  auto found = XR_TRY(look_up(port));
  XR_TRY(write_endpoints(found.maps.fd(map_names::endpoints), endpoints));
  self.mode_ = found.port.mode;
  self.sockets_ = Fd(fcntl(found.maps.fd(map_names::sockets), F_DUPFD_CLOEXEC, 0));
  return self;
}

Status Steering::add(uint32_t queue, int socket) {
  queues_.push_back(queue);
  if (bpf_map_update_elem(sockets_.get(), &queue, &socket, 0) < 0)
    return errno_error(errno, fmt::format("cannot redirect frames of queue {} to a socket", queue));
  return {};
}

Status Steering::go_promiscuous() {
  const auto netns = host::Netns::find(lease_.netns_inode());
  if (!netns)
    return Error{"the port's network namespace is gone"};
  const auto inside = XR_TRY(netns->enter());
  Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  packet_mreq request{};
  request.mr_ifindex = static_cast<int>(lease_.ifindex());
  request.mr_type = PACKET_MR_PROMISC;
  if (!fd || setsockopt(fd.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request)) < 0)
    return errno_error(errno, "cannot make the port promiscuous");
  promiscuous_ = std::move(fd);
  return {};
}

Status Steering::close() {
  if (!lease_)
    return {};
  promiscuous_.reset();
  // A socket in the map keeps a reference to the map: remove ours, so that the map can be freed.
  for (const uint32_t queue : queues_)
    bpf_map_delete_elem(sockets_.get(), &queue);
  sockets_.reset();
  return lease_.end();
}

Steering::~Steering() {
  try {
    (void)close();
  } catch (...) { // out of memory for the error; a destructor cannot report it anyway
  }
}

} // namespace xr::datapath
