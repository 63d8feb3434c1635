// SPDX-License-Identifier: Apache-2.0
#include "datapath/ability.h"

#include "datapath/exchange.h"
#include "datapath/place.h"
#include "datapath/status.h"

namespace xr::datapath {

namespace {

// A port and what there is of it, with the lock held.
struct Held {
  Lock lock;
  Place place;
  PortStatus port;
};

Result<Held> hold(const std::string &ifname, const std::string &netns) {
  auto lock = Lock::take(Lock::Kind::Exclusive);
  if (!lock)
    return lock.error();
  auto place = find_place(ifname, netns, find_bpffs());
  if (!place)
    return place.error();
  auto found = inspect(place->ifname, place->namespace_or_null(), place->ifindex,
                       place->pins ? &*place->pins : nullptr);
  if (!found)
    return found.error();
  return Held{std::move(*lock), std::move(*place), std::move(found->port)};
}

// The program is exchanged for one that has these features, unless it has.
Status turn(Held &held, const Ability &ability, uint32_t wanted) {
  if (held.port.features == wanted)
    return {};
  if (held.port.dispatcher)
    return Error{
        fmt::format("behind libxdp's dispatcher the program cannot be exchanged for one with {}",
                    ability.what),
        fmt::format("xdp-roce detach {}; {} attaches by itself", held.port.ifname, ability.who)};
  return exchange(held.place, held.port, {wanted, held.port.uses});
}

// What of it still has a user: one that was killed has left its feature behind.
uint32_t used(const Held &held, uint32_t features) {
  for (const auto &[feature, use] : {std::pair(ROCE_FEATURE_SOCKETS, Lock::Use::Endpoint),
                                     {ROCE_FEATURE_CAPTURE, Lock::Use::Capture}})
    if (features & feature &&
        Lock::take_port(held.place.netns->inode(), held.place.ifindex, use).ok())
      features &= ~static_cast<uint32_t>(feature);
  return features;
}

} // namespace

Result<Joined> join(const std::string &ifname, const std::string &netns, const Ability &ability,
                    const AttachOptions &options) {
  {
    auto held = hold(ifname, netns);
    if (!held)
      return held.error();
    if (held->port.features & ROCE_FEATURE_FORWARD && ability.feature & ROCE_FEATURE_SOCKETS)
      return Error{"it is a port of a bridge: its frames leave by the other one",
                   fmt::format("xdp-roce detach {}", ifname)};
    if (held->port.state == State::Attached) {
      auto done = turn(*held, ability, held->port.features | ability.feature);
      return done ? Result<Joined>(Joined{}) : Result<Joined>(done.error());
    }
  }
  AttachOptions with = options;
  with.*ability.option = true;
  with.passing = true;
  auto done = attach(ifname, netns, with);
  if (!done)
    return done.error();
  return Joined{true, std::move(done->notes)};
}

Result<std::string> leave(const std::string &ifname, const std::string &netns,
                          const Ability &ability, const Joined &joined) {
  auto held = hold(ifname, netns);
  if (!held)
    return held.error();
  const PortStatus &port = held->port;
  if (port.state == State::Attached) {
    const uint32_t others = used(*held, port.features & ~(ability.feature | ROCE_FEATURE_PASSING));
    const bool passing = port.features & ROCE_FEATURE_PASSING;
    if (!passing || others) {
      // Who gave it rules wants it to stay.
      const bool stays = passing && others & ROCE_FEATURE_RULES;
      const uint32_t gone = ability.feature | (stays ? ROCE_FEATURE_PASSING : 0);
      const auto done = turn(*held, ability, port.features & ~gone);
      if (!done)
        return done.error();
      return stays ? fmt::format("{} stays attached, for it has rules: xdp-roce detach {}", ifname,
                                 ifname)
                   : std::string();
    }
  } else if (!joined.attached || port.state == State::NotAttached) {
    return std::string();
  }
  auto done = detach_held(ifname, netns);
  return done ? Result<std::string>(std::string()) : Result<std::string>(done.error());
}

} // namespace xr::datapath
