// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <list>
#include <memory>
#include <optional>

#include <net/if.h>

#include <fmt/format.h>

#include "datapath/attach.h"
#include "datapath/clean.h"
#include "datapath/link_restart.h"
#include "datapath/lock.h"
#include "datapath/log.h"
#include "datapath/maps.h"
#include "datapath/place.h"
#include "host/privilege.h"

namespace xr::datapath {

namespace {

// The hook first, the pins last: if the process is killed in between, only stale pins remain, which
// the next detach removes.
Result<DetachReport> detach_place(const Place &place, const std::optional<Bpffs> &bpffs,
                                  KernelIds &freed, std::vector<LinkRestart> &restarts) {
  DetachReport report{place.ifname, place.netns ? place.netns->name() : "", "", {}};
  int taken = 0;
  bool deleted = false; // since the place was found: with the other end of its veth

  if (place.ifindex) {
    restarts.emplace_back(*place.netns, std::vector{place.ifindex});
    auto cleaned =
        clean_hook(*place.netns, place.ifindex, place.pins ? &*place.pins : nullptr, freed);
    deleted = interface_name(*place.netns, place.ifindex).empty();
    if (cleaned.ok())
      taken = *cleaned;
    else if (!deleted)
      return cleaned.error();
    if (place.pins)
      clean_promiscuous(*place.netns, *place.pins);
  }
  if (!taken && deleted)
    report.notes.push_back("the interface has been deleted");
  else if (!taken && !place.pins && place.stale.empty())
    return Error{"not attached", "`xdp-roce status` shows what is attached where"};
  if (place.pins) {
    if (!taken && !deleted)
      report.notes.push_back("its program was not on the interface");
    XR_TRY(clean_pins(*bpffs, *place.pins, freed));
  }
  for (const Pins &stale : place.stale) {
    report.notes.push_back("cleaned up after a deleted interface of that name");
    XR_TRY(clean_pins(*bpffs, stale, freed));
  }
  return report;
}

// Called after all ports are detached: the ports of a bridge share maps.
void await_freed(const KernelIds &freed, DetachReport &report) {
  const Freed result = wait_until_freed(freed);
  for (const Holder &holder : result.holders)
    report.notes.push_back(
        fmt::format("process {} ({}) has its maps open: their memory is freed when it ends",
                    holder.pid, holder.name));
  if (!result.all && result.holders.empty())
    report.notes.push_back("the kernel has not freed its maps yet; no process that is visible here "
                           "has them open");
}

// Ports that count as one share maps, which are freed with the last of them.
void leave_shared(const Bpffs &bpffs, KernelIds &freed, DetachReport &report) {
  for (const Pins &other : Pins::list(bpffs)) {
    const std::vector<uint32_t> theirs = Maps::of_pins(other).ids();
    const size_t shared = std::erase_if(
        freed.maps, [&](uint32_t id) { return std::ranges::find(theirs, id) != theirs.end(); });
    if (shared)
      report.notes.push_back(
          fmt::format("its counters and streams were shared with {}, which keeps them",
                      place_of(other).ifname));
  }
}

// The other port of a bridge, if it is still attached. Stale pins may name an interface that has
// another attachment now, as the numbers of namespaces are used again.
std::optional<Place> other_port(const Place &place, const Bpffs &bpffs) {
  const Pins *pins = place.best_pins();
  auto config = pins ? Maps::of_pins(*pins).config() : std::nullopt;
  if (config && config->abi != ROCE_ABI) {
    const unsigned peer = bridged_ifindex(bpffs, *pins);
    return peer ? std::optional(place_of(Pins(bpffs, pins->netns(), peer))) : std::nullopt;
  }
  if (!config || !config->peer_ifindex)
    return {};
  Pins other(bpffs, pins->netns(), config->peer_ifindex);
  if (!other.exist())
    return {};
  const auto theirs = Maps::of_pins(other).config(); // null: a bridge that was never complete
  if (theirs && theirs->peer_ifindex != pins->ifindex())
    return {};
  return place_of(other);
}

// The interfaces of the namespace that have a program of ours on the hook.
Result<std::vector<Place>> places_in(const std::string &netns_name) {
  auto netns = XR_TRY(host::Netns::open(netns_name));
  const auto inside = XR_TRY(netns.enter());
  std::vector<Place> places;
  std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> all(if_nameindex(),
                                                                        if_freenameindex);
  for (struct if_nameindex *i = all.get(); i && i->if_index; i++) {
    auto hook = read_hook(i->if_index);
    if (!hook.ok() || !hook->ours())
      continue;
    Place place;
    place.ifname = i->if_name;
    place.ifindex = i->if_index;
    place.netns = host::Netns::find(netns.inode());
    if (place.netns)
      places.push_back(std::move(place));
  }
  return places;
}

} // namespace

Result<DetachReport> detach(const PortName &port) {
  XR_TRY(begin_call());
  const auto lock = XR_TRY(Lock::take(Lock::Kind::Exclusive));
  auto place = find_place(port, find_bpffs());
  return place ? detach_held(*place) : Result<DetachReport>(place.error());
}

Result<DetachReport> detach_held(const Place &place) {
  auto bpffs = find_bpffs();
  // A bridge with only one port attached would lose every frame: detach both.
  auto other = bpffs ? other_port(place, *bpffs) : std::nullopt;
  KernelIds freed;
  std::vector<LinkRestart> restarts;
  auto report = detach_place(place, bpffs, freed, restarts);
  if (!report)
    return report;
  if (other) {
    XR_TRY(detach_place(*other, bpffs, freed, restarts));
    report->other = other->ifname;
    report->notes.push_back(
        fmt::format("it was bridged with {}, which is detached too", other->ifname));
  }
  if (bpffs)
    leave_shared(*bpffs, freed, *report);
  await_freed(freed, *report);
  for (const LinkRestart &restart : restarts)
    restart.wait(report->notes);
  return report;
}

Result<std::vector<DetachReport>> detach_all(const std::string &netns) {
  XR_TRY(begin_call());
  const auto lock = XR_TRY(Lock::take(Lock::Kind::Exclusive));
  auto bpffs = find_bpffs();
  std::vector<DetachReport> reports;
  std::vector<KernelIds> freed; // of each report
  std::list<Place> places;      // the namespaces of `restarts`
  std::vector<LinkRestart> restarts;
  std::optional<Error> failed;
  auto take = [&](Place given) {
    const Place &place = places.emplace_back(std::move(given));
    KernelIds ids;
    auto report = detach_place(place, bpffs, ids, restarts);
    if (report.ok()) {
      reports.push_back(std::move(*report));
      freed.push_back(std::move(ids));
    } else { // continue with the others
      failed = report.error().in(place.ifname);
    }
  };
  auto own = host::Netns::open(netns);
  for (const Pins &pins : bpffs ? Pins::list(*bpffs) : std::vector<Pins>())
    if (netns.empty() || pins.netns_name() == netns || (own.ok() && pins.netns() == own->inode()))
      take(place_of(pins));
  if (auto unpinned = places_in(netns); unpinned.ok())
    for (Place &place : *unpinned)
      take(std::move(place));
  else if (reports.empty()) // not an error for a deleted namespace whose pins were just removed
    failed = failed ? failed : unpinned.error();
  for (size_t i = 0; i < reports.size(); i++)
    await_freed(freed[i], reports[i]);
  for (const LinkRestart &restart : restarts)
    if (!reports.empty())
      restart.wait(reports.back().notes);
  if (failed)
    return *failed;
  return reports;
}

} // namespace xr::datapath
