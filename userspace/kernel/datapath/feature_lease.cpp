// SPDX-License-Identifier: Apache-2.0
#include "datapath/feature_lease.h"

#include <fmt/format.h>

#include "datapath/exchange.h"
#include "datapath/log.h"
#include "datapath/place.h"
#include "datapath/remedy.h"
#include "host/privilege.h"

namespace xr::datapath {

namespace {

// A port and its status, read while the exclusive lock is held.
struct InspectedPort {
  Place place;
  PortStatus port;
};

Result<InspectedPort> inspect_location(Place place) {
  auto found = inspect(place.ifname, place.namespace_or_null(), place.ifindex, place.best_pins());
  if (!found)
    return found.error();
  return InspectedPort{std::move(place), std::move(found->port)};
}

// Exchanges the port's program for one with exactly the features `wanted`.
Status exchange_features(InspectedPort &seen, const LeasedFeature &feature, uint32_t wanted) {
  if (seen.port.features == wanted)
    return {};
  auto possible = check_exchangeable(
      seen.port, fmt::format("{}; {} attaches by itself",
                             command_for(seen.port, "detach " + seen.port.ifname), feature.user));
  return possible ? exchange(seen.place, seen.port, {wanted, seen.port.uses}) : possible;
}

// Bits of `features` that a living process uses. A killed process leaves its feature on, but the
// kernel has released its lock.
uint32_t features_in_use(const InspectedPort &seen, uint32_t features) {
  for (const auto &[feature, use] : {std::pair(ROCE_FEATURE_SOCKETS, Lock::Use::Endpoint),
                                     {ROCE_FEATURE_CAPTURE, Lock::Use::Capture}})
    if (features & feature &&
        Lock::take_port(seen.place.netns->inode(), seen.place.ifindex, use).ok())
      features &= ~static_cast<uint32_t>(feature);
  return features;
}

// A bridge is made again with an option that is a flag. Any other port is only detached: the
// command attaches it with its options.
std::string with_option(const PortStatus &port, std::string_view option) {
  const bool flag =
      option == "--classes" || option == "--follow" || option == "--latency" || option == "--job";
  if (flag && port.features & ROCE_FEATURE_FORWARD)
    return attach_again(port, option);
  return command_for(port, "detach " + port.ifname) + " first";
}

// An attached port keeps its options. An explicit option that differs is an error, not ignored.
Status check_same_options(const AttachOptions &asked, const PortStatus &port) {
  const AttachOptions defaults;
  const auto differs = [](auto wanted, auto by_default, auto current) {
    return wanted != by_default && wanted != current;
  };
  const std::pair<bool, const char *> options[] = {
      {differs(asked.mode, defaults.mode, port.mode), "--mode"},
      {differs(asked.udp_port, defaults.udp_port, port.udp_port), "--udp-port"},
      {differs(asked.track, defaults.track, port.track), "--no-track"},
      {differs(asked.streams, defaults.streams, port.streams_capacity), "--streams"},
      {differs(asked.classes, defaults.classes, (port.features & ROCE_FEATURE_CLASSES) != 0),
       "--classes"},
      {differs(asked.follow, defaults.follow, (port.features & ROCE_FEATURE_FOLLOW) != 0),
       "--follow"},
      {differs(asked.latency, defaults.latency, (port.features & ROCE_FEATURE_TIME) != 0),
       "--latency"},
      {differs(asked.job, defaults.job, (port.features & ROCE_FEATURE_JOB) != 0), "--job"},
      {port.pairs_capacity && differs(asked.pairs, defaults.pairs, port.pairs_capacity), "--pairs"},
      {differs(asked.decap, defaults.decap, port.decap), "--decap"},
      {differs(asked.cnp_window_ns, defaults.cnp_window_ns, port.cnp_window_ns), "--cnp-window"}};
  for (const auto &[another, option] : options)
    if (another)
      return Error{fmt::format("it is already attached with another {}", option),
                   fmt::format("omit {}, or {}", option, with_option(port, option))};
  return {};
}

// Adds the feature to an attached port, or attaches the port with it.
Result<AttachReport> add_feature(InspectedPort &seen, const std::string &netns,
                                 const LeasedFeature &feature, const AttachOptions &options) {
  const PortStatus &port = seen.port;
  if (port.state == AttachState::Attached) {
    if (port.features & ROCE_FEATURE_FORWARD && feature.bit & ROCE_FEATURE_SOCKETS)
      return Error{"it is a port of a bridge: its frames leave by the other port",
                   command_for(port, "detach " + port.ifname)};
    auto done = check_same_options(options, port);
    if (done)
      done = exchange_features(seen, feature, port.features | feature.bit);
    return done ? Result<AttachReport>({port, {}}) : Result<AttachReport>(done.error());
  }
  AttachOptions with = options;
  with.features |= feature.bit | ROCE_FEATURE_PASSING;
  return attach_held({port.ifname, netns}, with);
}

} // namespace

Result<FeatureLease> FeatureLease::take(const PortName &name, const LeasedFeature &feature,
                                        const AttachOptions &options) {
  XR_TRY(begin_call(host::Privilege::Load));
  const auto whole = XR_TRY(Lock::take(Lock::Kind::Exclusive));
  auto place = XR_TRY(find_place(name, find_bpffs()));
  auto seen = XR_TRY(inspect_location(std::move(place)));
  auto lock = XR_TRY(Lock::take_port(seen.port.netns_inode, seen.port.ifindex, feature.use));
  const bool attaches = seen.port.state != AttachState::Attached;
  auto given = add_feature(seen, name.netns, feature, options);
  if (!given)
    return given.error();
  const PortStatus &port = given->port;
  return FeatureLease(
      {feature, std::move(lock), port.netns_inode, port.ifindex, port.since_ns, attaches},
      std::move(given->notes));
}

Status FeatureLease::end() {
  const auto held = std::move(held_); // releases the port's lock at the end of this function
  if (!held)
    return {};
  const auto lock = XR_TRY(Lock::take(Lock::Kind::Exclusive));
  const auto bpffs = find_bpffs();
  const auto pins =
      bpffs ? std::optional(Pins(*bpffs, held->netns_inode, held->ifindex)) : std::nullopt;
  if (!pins || !pins->exist())
    return {}; // another process detached the port
  auto seen = XR_TRY(inspect_location(place_of(*pins)));
  const PortStatus &port = seen.port;
  if (port.since_ns != held->since_ns)
    return {}; // another process detached the port and attached it again
  const uint32_t features = port.features, mine = held->feature.bit;
  if (port.state == AttachState::Attached) {
    const uint32_t others =
        features_in_use(seen, features & ~(mine | ROCE_FEATURE_PASSING | ROCE_FEATURES_OF_OPTIONS));
    const bool passing = features & ROCE_FEATURE_PASSING;
    if (!passing || others) {
      // Rules were added during the lease: the port stays attached for them.
      const bool stays = passing && others & ROCE_FEATURE_RULES;
      auto done = exchange_features(seen, held->feature,
                                    features & ~(mine | (stays ? ROCE_FEATURE_PASSING : 0)));
      if (done && stays)
        notes_.push_back(fmt::format("{} stays attached because it has rules: {}", port.ifname,
                                     command_for(port, "detach " + port.ifname)));
      return done;
    }
  } else if (!held->attached ||
             (port.state != AttachState::OffHook && port.state != AttachState::InterfaceGone)) {
    return {};
  }
  auto done = detach_held(seen.place);
  return done ? Status() : Status(done.error());
}

FeatureLease::~FeatureLease() {
  try {
    (void)end();
  } catch (...) { // out of memory for the error; a destructor cannot report it anyway
  }
}

} // namespace xr::datapath
