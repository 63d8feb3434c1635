// SPDX-License-Identifier: Apache-2.0
#include "datapath/ability.h"

#include "datapath/exchange.h"

namespace xr::datapath {

namespace {

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

} // namespace

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

Status enable(Held &held, const Ability &ability) {
  return turn(held, ability, held.port.features | ability.feature);
}

Status disable(Held &held, const Ability &ability) {
  return turn(held, ability, held.port.features & ~ability.feature);
}

} // namespace xr::datapath
