// SPDX-License-Identifier: Apache-2.0
#include "datapath/ability.h"

#include "datapath/exchange.h"
#include "datapath/log.h"
#include "datapath/place.h"
#include "host/privilege.h"

namespace xr::datapath {

namespace {

// A port and what there is of it; the tool's lock is held.
struct Seen {
  Place place;
  PortStatus port;
};

Result<Seen> see(Place place) {
  auto found = inspect(place.ifname, place.namespace_or_null(), place.ifindex, place.best_pins());
  if (!found)
    return found.error();
  return Seen{std::move(place), std::move(found->port)};
}

// The program is exchanged for one that has these features, unless it has.
Status turn(Seen &seen, const Ability &ability, uint32_t wanted) {
  if (seen.port.features == wanted)
    return {};
  auto possible =
      check_exchangeable(seen.port, fmt::format("xdp-roce detach {}; {} attaches by itself",
                                                seen.port.ifname, ability.who));
  return possible ? exchange(seen.place, seen.port, {wanted, seen.port.uses}) : possible;
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
  const std::pair<bool, const char *> options[] = {
      {differs(asked.mode, usual.mode, port.mode), "--mode"},
      {differs(asked.udp_port, usual.udp_port, port.udp_port), "--udp-port"},
      {differs(asked.track, usual.track, port.track), "--no-track"},
      {differs(asked.streams, usual.streams, port.streams_capacity), "--streams"},
      {differs(asked.cnp_window_ns, usual.cnp_window_ns, port.cnp_window_ns), "--cnp-window"}};
  for (const auto &[another, option] : options)
    if (another)
      return Error{fmt::format("it is attached already, with another {}", option),
                   fmt::format("without {}, or xdp-roce detach {} before", option, port.ifname)};
  return {};
}

// The port has it from now on.
Result<AttachReport> give(Seen &seen, const std::string &netns, const Ability &ability,
                          const AttachOptions &options) {
  const PortStatus &port = seen.port;
  if (port.features & ROCE_FEATURE_FORWARD && ability.feature & ROCE_FEATURE_SOCKETS)
    return Error{"it is a port of a bridge: its frames leave by the other one",
                 fmt::format("xdp-roce detach {}", port.ifname)};
  if (port.state == AttachState::Attached) {
    auto done = fits(options, port);
    if (done)
      done = turn(seen, ability, port.features | ability.feature);
    return done ? Result<AttachReport>({port, {}}) : Result<AttachReport>(done.error());
  }
  AttachOptions with = options;
  with.features |= ability.feature | ROCE_FEATURE_PASSING;
  return attach_held(port.ifname, netns, with);
}

} // namespace

Result<Lease> Lease::take(const std::string &ifname, const std::string &netns,
                          const Ability &ability, const AttachOptions &options) {
  if (auto allowed = begin_call(host::Privilege::Load); !allowed)
    return allowed.error();
  auto whole = Lock::take(Lock::Kind::Exclusive);
  if (!whole)
    return whole.error();
  auto place = find_place(ifname, netns, find_bpffs());
  if (!place)
    return place.error();
  auto seen = see(std::move(*place));
  if (!seen)
    return seen.error();
  auto lock = Lock::take_port(seen->port.netns_inode, seen->port.ifindex, ability.use);
  if (!lock)
    return lock.error();
  const bool attaches = seen->port.state != AttachState::Attached;
  auto given = give(*seen, netns, ability, options);
  if (!given)
    return given.error();
  const PortStatus &port = given->port;
  return Lease({ability, std::move(*lock), port.netns_inode, port.ifindex, port.since_ns, attaches},
               std::move(given->notes));
}

Status Lease::end() {
  const auto held = std::move(held_); // the lock goes last
  if (!held)
    return {};
  auto whole = Lock::take(Lock::Kind::Exclusive);
  if (!whole)
    return whole.error();
  const auto bpffs = find_bpffs();
  const auto pins =
      bpffs ? std::optional(Pins(*bpffs, held->netns_inode, held->ifindex)) : std::nullopt;
  if (!pins || !pins->exist())
    return {}; // detached meanwhile
  auto seen = see(place_of(*pins));
  if (!seen)
    return seen.error();
  const PortStatus &port = seen->port;
  if (port.since_ns != held->since_ns)
    return {}; // and attached anew, by somebody else
  const uint32_t features = port.features, mine = held->ability.feature;
  if (port.state == AttachState::Attached) {
    const uint32_t others = used(*seen, features & ~(mine | ROCE_FEATURE_PASSING));
    const bool passing = features & ROCE_FEATURE_PASSING;
    if (!passing || others) {
      // Who gave it rules wants it to stay.
      const bool stays = passing && others & ROCE_FEATURE_RULES;
      auto done =
          turn(*seen, held->ability, features & ~(mine | (stays ? ROCE_FEATURE_PASSING : 0)));
      if (done && stays)
        notes_.push_back(
            fmt::format("{0} stays attached, for it has rules: xdp-roce detach {0}", port.ifname));
      return done;
    }
  } else if (!held->attached ||
             (port.state != AttachState::OffHook && port.state != AttachState::InterfaceGone)) {
    return {};
  }
  auto done = detach_held(seen->place);
  return done ? Status() : Status(done.error());
}

Lease::~Lease() {
  try {
    (void)end();
  } catch (...) { // no memory for its errors: nobody hears them here anyway
  }
}

} // namespace xr::datapath
