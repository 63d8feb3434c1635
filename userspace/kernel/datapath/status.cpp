// SPDX-License-Identifier: Apache-2.0
#include "datapath/status.h"

#include <algorithm>
#include <ctime>
#include <memory>

#include <arpa/inet.h>
#include <net/if.h>

#include <bpf/bpf.h>

#include <fmt/format.h>

#include "datapath/lock.h"
#include "datapath/log.h"
#include "datapath/map_names.h"
#include "datapath/place.h"
#include "datapath/remedy.h"
#include "host/link.h"
#include "host/privilege.h"

namespace xr::datapath {

namespace {

void describe(PortStatus &port, const Maps &maps) {
  port.map_bytes = maps.memory();
  auto config = maps.config();
  if (!config)
    return;
  port.abi = config->abi;
  if (config->abi != ROCE_ABI)
    return;
  port.since_ns = config->attached_ns;
  port.track = config->track;
  port.frags = config->frags;
  port.udp_port = ntohs(config->udp_port_be);
  port.cnp_window_ns = config->cnp_window_ns;
  port.features = config->features;
  port.uses = config->uses;
  port.decap = config->decap;
  port.quantum_ps = config->quantum_ps;
  port.side = config->side;
  port.peer_ifindex = config->peer_ifindex;
  const roce_shared shared = maps.shared();
  port.streams_capacity = config->track ? config->streams : 0;
  port.streams_used = config->track ? std::min<uint32_t>(shared.streams_used, config->streams) : 0;
  port.pairs_capacity = config->pairs;
  port.follows_used = std::min(shared.follows_used, config->pairs);
  port.timings_used = std::min(shared.timings_used, config->pairs);
}

// Whether the program on the hook belongs to these pins. An attach that was killed leaves no pin of
// the program; then the maps that it uses decide.
bool uses_maps_of_pins(uint32_t on_hook, uint32_t pinned, const Maps &maps) {
  if (pinned)
    return pinned == on_hook;
  Fd fd(bpf_prog_get_fd_by_id(on_hook));
  auto used = program_map_ids(fd.get()), ids = maps.ids();
  return std::find_first_of(used.begin(), used.end(), ids.begin(), ids.end()) != used.end();
}

Status read_hook_of(PortStatus &port, const host::Netns &netns) {
  const auto inside = XR_TRY(netns.enter());
  auto hook = read_hook(port.ifindex);
  if (!hook)
    return hook.error();
  port.mode = hook->mode;
  port.hook_id = hook->main_id;
  port.dispatcher = hook->dispatcher;
  port.programs = std::move(hook->programs);
  if (auto facts = host::read_link_at(port.ifindex); facts.ok()) {
    port.up = facts->up;
    port.running = facts->running;
  }
  return {};
}

uint32_t ours_on_hook(const PortStatus &port, uint32_t pinned) {
  for (const HookProgram &program : port.programs)
    if (program.name == kProgramName || (pinned && program.id == pinned))
      return program.id;
  return 0;
}

// Adds to `known` the interfaces of the namespace that have a program of ours without pins.
Status add_unpinned(const host::Netns &netns, std::vector<PortStatus> &known) {
  const auto inside = XR_TRY(netns.enter());
  std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> all(if_nameindex(),
                                                                        if_freenameindex);
  for (struct if_nameindex *i = all.get(); i && i->if_index; i++) {
    if (std::any_of(known.begin(), known.end(), [&](const PortStatus &p) {
          return p.netns_inode == netns.inode() && p.ifindex == i->if_index;
        }))
      continue;
    auto hook = read_hook(i->if_index);
    if (!hook.ok() || !hook->ours())
      continue;
    auto found = inspect(i->if_name, &netns, i->if_index, nullptr);
    if (found.ok())
      known.push_back(std::move(found->port));
  }
  return {};
}

} // namespace

std::string alone_note(const PortStatus &port) {
  return "alone on the XDP hook; no other program can join: " + port.alone;
}

std::string abis(const PortStatus &port) {
  return fmt::format("ABI {}, this is {}", port.abi ? std::to_string(port.abi) : "unknown",
                     ROCE_ABI);
}

Error not_readable(const PortStatus &port) {
  std::string clean = command_for(port, "detach " + port.ifname) + " cleans up";
  switch (port.state) {
  case AttachState::OffHook:
    return Error{"the attachment is stale: its program is not on the interface", clean};
  case AttachState::InterfaceGone:
    return Error{"the interface is gone, and its attachment with it", clean};
  case AttachState::OtherAbi:
    return Error{fmt::format("attached by another version of xdp-roce ({})", abis(port)),
                 replace_other_abi(port)};
  default:
    return Error{"not attached", command_for(port, "attach " + port.ifname) + " first"};
  }
}

// The attached ports, of the same namespace, that use the same maps and are no bridge with this
// one.
std::vector<std::string> names_of_shared(const PortStatus &port, const Pins &pins,
                                         const host::Netns &netns) {
  std::vector<std::string> names;
  const auto bpffs = find_bpffs();
  const uint32_t totals = map_id(pins.open(map_names::totals).get());
  if (!bpffs || !totals)
    return names;
  for (const Pins &other : Pins::list(*bpffs))
    if (other.netns() == pins.netns() && other.ifindex() != pins.ifindex() &&
        other.ifindex() != port.peer_ifindex &&
        map_id(other.open(map_names::totals).get()) == totals)
      if (std::string name = interface_name(netns, other.ifindex()); !name.empty())
        names.push_back(std::move(name));
  return names;
}

Result<Inspected> inspect(const std::string &ifname, const host::Netns *netns, unsigned ifindex,
                          const Pins *pins) {
  Inspected inspected;
  PortStatus &port = inspected.port;

  port.ifname = ifname;
  port.ifindex = ifindex;
  port.netns = netns ? netns->name() : pins ? pins->netns_name() : "";
  port.netns_inode = netns ? netns->inode() : pins ? pins->netns() : 0;
  uint32_t pinned = 0;
  bool gone = !netns || !ifindex;
  XR_TRY(gone ? Status() : read_hook_of(port, *netns));
  if (pins) {
    // If an exchange was killed before its end, the _next program may be the one on the hook.
    uint32_t next = program_id(pins->open(std::string(Pins::kProgram) + Pins::kNext).get());
    bool is_next = next && ours_on_hook(port, next) == next;
    inspected.maps = Maps::of_pins(*pins, is_next);
    pinned = is_next ? next : program_id(pins->open(Pins::kProgram).get());
    describe(port, inspected.maps);
    if (port.abi && port.abi != ROCE_ABI)
      if (const auto bpffs = find_bpffs())
        port.peer_ifindex = bridged_ifindex(*bpffs, *pins);
    if (!port.dispatcher)
      port.alone = pins->recorded(Pins::kAlone);
  }
  if (gone) {
    port.state = AttachState::InterfaceGone;
    return inspected;
  }
  if (pins)
    port.shared_with = names_of_shared(port, *pins, *netns);
  if (port.peer_ifindex)
    port.peer = interface_name(*netns, port.peer_ifindex);
  port.program_id = ours_on_hook(port, pinned);
  if (!port.program_id) {
    port.state = pins ? AttachState::OffHook : AttachState::NotAttached;
  } else if (pins && uses_maps_of_pins(port.program_id, pinned, inspected.maps)) {
    port.state = port.abi == ROCE_ABI ? AttachState::Attached : AttachState::OtherAbi;
  } else {
    inspected.maps = Maps::of_program(Fd(bpf_prog_get_fd_by_id(port.program_id)).get());
    describe(port, inspected.maps);
    // Without CAP_SYS_ADMIN the maps cannot be found, so another ABI also appears as Unpinned.
    port.state = port.abi && port.abi != ROCE_ABI ? AttachState::OtherAbi : AttachState::Unpinned;
  }
  return inspected;
}

Result<std::vector<PortStatus>> status(const std::string &netns_name) {
  XR_TRY(begin_call(host::Privilege::Read));
  auto own = XR_TRY(host::Netns::open(netns_name));
  const auto lock = XR_TRY(Lock::take(Lock::Kind::Shared));
  auto bpffs = find_bpffs();
  std::vector<PortStatus> ports;
  for (const Pins &pins : bpffs ? Pins::list(*bpffs) : std::vector<Pins>()) {
    if (!netns_name.empty() && pins.netns() != own.inode() && pins.netns_name() != netns_name)
      continue;
    const Place place = place_of(pins);
    auto found = inspect(place.ifname, place.namespace_or_null(), place.ifindex, &pins);
    if (!found)
      return found.error();
    ports.push_back(std::move(found->port));
  }
  XR_TRY(add_unpinned(own, ports));
  return ports;
}

Result<bool> is_still_attached(const PortStatus &port) {
  auto netns = host::Netns::find(port.netns_inode);
  if (!netns || interface_name(*netns, port.ifindex).empty())
    return false;
  auto hook = [&]() -> Result<Hook> {
    auto scope = netns->enter();
    return scope ? read_hook(port.ifindex) : Result<Hook>(scope.error());
  }();
  if (!hook)
    return hook.error();
  if (hook->has(port.program_id))
    return true;
  auto bpffs = find_bpffs();
  if (!bpffs)
    return false;
  const Pins pins(*bpffs, port.netns_inode, port.ifindex);
  const auto on_hook = [&](const std::string &pin) {
    return hook->has(program_id(pins.open(pin).get()));
  };
  // Without the privilege to read names of programs, compare with the pinned ones. The _next pin
  // first: settle_next() may rename it to the other's name between the two reads.
  const bool ours =
      hook->hidden ? on_hook(std::string(Pins::kProgram) + Pins::kNext) || on_hook(Pins::kProgram)
                   : hook->ours() != nullptr;
  if (!ours)
    return false;
  // An exchange keeps attached_ns, so an equal value means the same attachment.
  auto config = Maps::of_pins(pins).config();
  return !config || config->attached_ns == port.since_ns; // no config: an exchange is in progress
}

Result<std::vector<std::string>> pinned_interfaces(const std::string &netns) {
  auto own = XR_TRY(host::Netns::open(netns));
  std::vector<std::string> names;
  auto bpffs = find_bpffs();
  for (const Pins &pins : bpffs ? Pins::list(*bpffs) : std::vector<Pins>())
    if (pins.netns() == own.inode())
      if (std::string name = interface_name(own, pins.ifindex()); !name.empty())
        names.push_back(std::move(name));
  return names;
}

std::set<std::string> pinned_netns_names() {
  std::set<std::string> names;
  const auto bpffs = find_bpffs();
  for (const Pins &pins : bpffs ? Pins::list(*bpffs) : std::vector<Pins>())
    names.insert(pins.netns_name());
  names.erase("");
  return names;
}

Result<Inspected> look_up(const PortName &port) {
  XR_TRY(begin_call(host::Privilege::Read));
  const auto lock = XR_TRY(Lock::take(Lock::Kind::Shared));
  auto place = XR_TRY(find_place(port, find_bpffs()));
  auto found = inspect(port.ifname, place.namespace_or_null(), place.ifindex, place.best_pins());
  if (found && place.pins)
    found->directory = place.pins->directory();
  return found;
}

Result<PortStatus> status_of(const PortName &port) {
  auto found = look_up(port);
  if (!found)
    return found.error();
  return std::move(found->port);
}

} // namespace xr::datapath
