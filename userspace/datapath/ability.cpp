// SPDX-License-Identifier: Apache-2.0
#include "datapath/ability.h"

#include "datapath/exchange.h"
#include "datapath/place.h"
#include "datapath/privilege.h"

namespace xr::datapath {

namespace {

// A port and what there is of it, with the tool's lock held.
struct Seen {
  Lock lock;
  Place place;
  PortStatus port;
};

Result<Seen> hold(const std::string &ifname, const std::string &netns) {
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
  return Seen{std::move(*lock), std::move(*place), std::move(found->port)};
}

// The program is exchanged for one that has these features, unless it has.
Status turn(Seen &seen, const Ability &ability, uint32_t wanted) {
  if (seen.port.features == wanted)
    return {};
  if (seen.port.dispatcher)
    return Error{
        fmt::format("behind libxdp's dispatcher the program cannot be exchanged for one with {}",
                    ability.what),
        fmt::format("xdp-roce detach {}; {} attaches by itself", seen.port.ifname, ability.who)};
  return exchange(seen.place, seen.port, {wanted, seen.port.uses});
}

// What of it still has a user: one that was killed has left its feature behind.
uint32_t used(const Seen &seen, uint32_t features) {
  for (const auto &[feature, use] : {std::pair(ROCE_FEATURE_SOCKETS, Lock::Use::Endpoint),
                                     {ROCE_FEATURE_CAPTURE, Lock::Use::Capture}})
    if (features & feature &&
        Lock::take_port(seen.place.netns->inode(), seen.place.ifindex, use).ok())
      features &= ~static_cast<uint32_t>(feature);
  return features;
}

// What was asked for and is not so would be ignored.
Status fits(const AttachOptions &asked, const PortStatus &port) {
  const AttachOptions usual;
  const auto differs = [](auto wanted, auto by_default, auto there) {
    return wanted != by_default && wanted != there;
  };
  const char *option = differs(asked.mode, usual.mode, port.mode)                     ? "--mode"
                       : differs(asked.udp_port, usual.udp_port, port.udp_port)       ? "--udp-port"
                       : differs(asked.track, usual.track, port.track)                ? "--no-track"
                       : differs(asked.streams, usual.streams, port.streams_capacity) ? "--streams"
                       : differs(asked.cnp_window_ns, usual.cnp_window_ns, port.cnp_window_ns)
                           ? "--cnp-window"
                           : nullptr;
  if (!option)
    return {};
  return Error{fmt::format("it is attached already, with another {}", option),
               fmt::format("without {}, or xdp-roce detach {} before", option, port.ifname)};
}

// The port has it from now on. True: nothing was attached before.
Result<bool> give(const std::string &ifname, const std::string &netns, const Ability &ability,
                  const AttachOptions &options, std::vector<std::string> &notes) {
  {
    auto seen = hold(ifname, netns);
    if (!seen)
      return seen.error();
    if (seen->port.features & ROCE_FEATURE_FORWARD && ability.feature & ROCE_FEATURE_SOCKETS)
      return Error{"it is a port of a bridge: its frames leave by the other one",
                   fmt::format("xdp-roce detach {}", ifname)};
    if (seen->port.state == State::Attached) {
      if (auto done = fits(options, seen->port); !done)
        return done.error();
      auto done = turn(*seen, ability, seen->port.features | ability.feature);
      return done ? Result<bool>(false) : Result<bool>(done.error());
    }
  }
  AttachOptions with = options;
  with.features |= ability.feature | ROCE_FEATURE_PASSING;
  auto done = attach(ifname, netns, with);
  if (!done)
    return done.error();
  notes = std::move(done->notes);
  return true;
}

} // namespace

Result<Lease> Lease::take(const std::string &ifname, const std::string &netns,
                          const Ability &ability, const AttachOptions &options) {
  if (auto allowed = check_privilege(Privilege::Load); !allowed)
    return allowed.error();
  auto place = find_place(ifname, netns, find_bpffs());
  if (!place)
    return place.error();
  auto lock = Lock::take_port(place->netns->inode(), place->ifindex, ability.use);
  if (!lock)
    return lock.error();
  std::vector<std::string> notes;
  auto attached = give(ifname, netns, ability, options, notes);
  if (!attached)
    return attached.error();
  return Lease({ifname, netns, ability, std::move(*lock), *attached}, std::move(notes));
}

Status Lease::end() {
  const auto held = std::move(held_); // the lock goes last
  if (!held)
    return {};
  auto seen = hold(held->ifname, held->netns);
  if (!seen)
    return seen.error();
  const uint32_t features = seen->port.features, mine = held->ability.feature;
  if (seen->port.state == State::Attached) {
    const uint32_t others = used(*seen, features & ~(mine | ROCE_FEATURE_PASSING));
    const bool passing = features & ROCE_FEATURE_PASSING;
    if (!passing || others) {
      // Who gave it rules wants it to stay.
      const bool stays = passing && others & ROCE_FEATURE_RULES;
      auto done =
          turn(*seen, held->ability, features & ~(mine | (stays ? ROCE_FEATURE_PASSING : 0)));
      if (done && stays)
        notes_.push_back(
            fmt::format("{0} stays attached, for it has rules: xdp-roce detach {0}", held->ifname));
      return done;
    }
  } else if (!held->attached || seen->port.state == State::NotAttached) {
    return {};
  }
  auto done = detach_held(held->ifname, held->netns);
  return done ? Status() : Status(done.error());
}

Lease::~Lease() {
  try {
    (void)end();
  } catch (...) { // no memory for its errors: nobody hears them here anyway
  }
}

} // namespace xr::datapath
