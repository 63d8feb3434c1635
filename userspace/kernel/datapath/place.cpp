// SPDX-License-Identifier: Apache-2.0
#include "datapath/place.h"

#include <algorithm>

#include <net/if.h>

#include "datapath/maps.h"

namespace xr::datapath {

std::string interface_name(const host::Netns &netns, unsigned ifindex) {
  char name[IF_NAMESIZE];
  auto scope = netns.enter();
  return scope.ok() && if_indextoname(ifindex, name) ? name : "";
}

namespace {

bool interface_is_gone(const host::Netns &netns, const Pins &pins) {
  return interface_name(netns, pins.ifindex()).empty();
}

// The pins' namespace is deleted; another namespace may have its name now.
bool namespace_is_gone(const std::string &name, const Pins &pins) {
  return !name.empty() && pins.netns_name() == name && !host::Netns::find(pins.netns());
}

} // namespace

Place place_of(const Pins &pins) {
  Place place;
  place.netns = host::Netns::find(pins.netns());
  std::string ifname = place.netns ? interface_name(*place.netns, pins.ifindex()) : "";
  place.ifname = ifname.empty() ? pins.ifname() : ifname;
  if (ifname.empty()) {
    place.stale.push_back(pins);
  } else {
    place.ifindex = pins.ifindex();
    place.pins = pins;
  }
  return place;
}

unsigned bridged_ifindex(const Bpffs &bpffs, const Pins &pins) {
  if (pins.recorded(Pins::kPromiscuous).empty())
    return 0;
  const auto maps = Maps::of_pins(pins).ids();
  for (const Pins &other : Pins::list(bpffs)) {
    if (other.netns() != pins.netns() || other.ifindex() == pins.ifindex() ||
        other.recorded(Pins::kPromiscuous).empty())
      continue;
    const auto theirs = Maps::of_pins(other).ids();
    if (std::find_first_of(maps.begin(), maps.end(), theirs.begin(), theirs.end()) != maps.end())
      return other.ifindex();
  }
  return 0;
}

Result<Place> find_place(const PortName &port, const std::optional<Bpffs> &bpffs) {
  Place place;
  place.ifname = port.ifname;
  auto netns = host::Netns::open(port.netns);
  if (netns.ok()) {
    const auto inside = XR_TRY(netns->enter());
    place.netns = std::move(*netns);
    place.ifindex = port.ifname.size() < IF_NAMESIZE ? if_nametoindex(port.ifname.c_str()) : 0;
  }
  for (const Pins &pins : bpffs ? Pins::list(*bpffs) : std::vector<Pins>()) {
    bool here = place.netns && pins.netns() == place.netns->inode();
    if (here && place.ifindex == pins.ifindex())
      place.pins = pins;
    else if (pins.ifname() == port.ifname &&
             (here ? interface_is_gone(*place.netns, pins) : namespace_is_gone(port.netns, pins)))
      place.stale.push_back(pins);
  }
  if (!place.netns && place.stale.empty())
    return netns.error();
  if (!place.ifindex && place.stale.empty())
    return host::no_such_interface(port.netns);
  return place;
}

} // namespace xr::datapath
