// SPDX-License-Identifier: Apache-2.0
#include "datapath/steering.h"

#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <bpf/bpf.h>

#include "datapath/ability.h"
#include "datapath/lock.h"
#include "datapath/place.h"
#include "datapath/privilege.h"
#include "roce/steer.h"

namespace xr::datapath {

namespace {

constexpr Ability kSteer = {ROCE_FEATURE_SOCKETS, "sockets", "the endpoint",
                            &AttachOptions::sockets, Lock::Use::Endpoint};

Status clear(int map) {
  roce_endpoint key{};
  while (bpf_map_get_next_key(map, nullptr, &key) == 0)
    if (bpf_map_delete_elem(map, &key) < 0)
      return errno_error(errno, "cannot take the addresses of a former endpoint away");
  return {};
}

} // namespace

Status Steering::tell(const std::vector<Endpoint> &endpoints) const {
  auto found = look_up(ifname_, netns_);
  if (!found)
    return found.error();
  const int map = found->maps.fd("endpoints");
  if (auto done = clear(map); !done)
    return done;
  for (const auto &[address, neighbours] : endpoints) {
    roce_endpoint key{{address[0], address[1], address[2], address[3]}};
    uint32_t value = ROCE_STEER_ROCE;
    if (neighbours)
      value |= ROCE_STEER_NEIGHBOURS;
    if (bpf_map_update_elem(map, &key, &value, 0) < 0)
      return errno_error(
          errno, fmt::format("cannot tell the port its addresses ({} at most)", ROCE_ENDPOINTS));
  }
  return {};
}

Result<Steering> Steering::open(const std::string &ifname, const std::string &netns,
                                const AttachOptions &options,
                                const std::vector<Endpoint> &endpoints) {
  if (auto allowed = check_privilege(Privilege::Load); !allowed)
    return allowed.error();
  Steering self;
  self.ifname_ = ifname;
  self.netns_ = netns;
  auto place = find_place(ifname, netns, find_bpffs());
  if (!place)
    return place.error();
  auto lock = Lock::take_port(place->netns->inode(), place->ifindex);
  if (!lock)
    return lock.error();
  self.lock_ = std::move(*lock);
  auto joined = join(ifname, netns, kSteer, options);
  if (!joined)
    return joined.error();
  self.joined_ = std::move(*joined);
  self.notes_ = self.joined_.notes;
  self.open_ = true;
  if (auto done = self.tell(endpoints); !done)
    return done.error();
  auto found = look_up(ifname, netns);
  if (!found)
    return found.error();
  self.mode_ = found->port.mode;
  self.sockets_ = Fd(fcntl(found->maps.fd("sockets"), F_DUPFD_CLOEXEC, 0));
  return self;
}

Steering::Steering(Steering &&other) noexcept
    : ifname_(std::move(other.ifname_)), netns_(std::move(other.netns_)),
      notes_(std::move(other.notes_)), mode_(other.mode_), open_(std::exchange(other.open_, false)),
      joined_(std::move(other.joined_)), lock_(std::exchange(other.lock_, std::nullopt)),
      promiscuous_(std::move(other.promiscuous_)), sockets_(std::move(other.sockets_)),
      queues_(std::move(other.queues_)) {}

Status Steering::add(uint32_t queue, int socket) {
  queues_.push_back(queue);
  if (bpf_map_update_elem(sockets_.get(), &queue, &socket, 0) < 0)
    return errno_error(errno, fmt::format("cannot hand frames of queue {} to a socket", queue));
  return {};
}

Status Steering::go_promiscuous() {
  auto netns = Netns::open(netns_);
  if (!netns)
    return netns.error();
  auto scope = netns->enter();
  if (!scope)
    return scope.error();
  Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  packet_mreq request{};
  request.mr_ifindex = static_cast<int>(if_nametoindex(ifname_.c_str()));
  request.mr_type = PACKET_MR_PROMISC;
  if (!fd || setsockopt(fd.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request)) < 0)
    return errno_error(errno, "cannot make the port promiscuous");
  promiscuous_ = std::move(fd);
  return {};
}

Status Steering::close() {
  if (!std::exchange(open_, false))
    return {};
  promiscuous_.reset();
  // A socket that stands in the map keeps all of it.
  for (const uint32_t queue : queues_)
    bpf_map_delete_elem(sockets_.get(), &queue);
  sockets_.reset();
  auto left = leave(ifname_, netns_, kSteer, joined_);
  if (!left)
    return left.error();
  if (!left->empty())
    notes_.push_back(std::move(*left));
  return {};
}

Steering::~Steering() {
  try {
    (void)close();
  } catch (...) { // no memory for its errors: nobody hears them here anyway
  }
}

} // namespace xr::datapath
