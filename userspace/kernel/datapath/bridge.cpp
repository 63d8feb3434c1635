// SPDX-License-Identifier: Apache-2.0
#include "datapath/bridge.h"

#include <memory>
#include <optional>

#include <unistd.h>

#include <bpf/bpf.h>

#include <fmt/format.h>

#include "datapath/exchange.h"
#include "datapath/join.h"
#include "datapath/link_restart.h"
#include "datapath/lock.h"
#include "datapath/log.h"
#include "datapath/object.h"
#include "datapath/prepare.h"
#include "host/link.h"
#include "host/privilege.h"
#include "roce/parse.h"

namespace xr::datapath {

namespace {

// One port of the bridge while the bridge is being built.
struct BridgeEnd {
  BridgeEnd(Prepared ready_, const Bpffs &bpffs)
      : ready(std::move(ready_)),
        pins(bpffs, ready.place.netns.value().inode(), ready.place.ifindex),
        undo(*ready.place.netns, ready.place.ifindex, bpffs, pins) {}

  unsigned ifindex() const { return ready.place.ifindex; }

  Prepared ready;
  Pins pins;
  Undo undo;
  std::unique_ptr<Object> object;
};

Mode mode_of(const AttachOptions &options) {
  return options.mode == Mode::Skb ? Mode::Skb : Mode::Native;
}

Status load(BridgeEnd &end, const BridgeEnd &other, roce_config config, bool second,
            const AttachOptions &options) {
  config.features |= ROCE_FEATURE_FORWARD;
  config.side = second ? ROCE_KEY_SIDE : 0;
  config.sides = ROCE_KEY_SIDE;
  config.peer_ifindex = other.ifindex();
  config.quantum_ps = quantum_of(host::read_speed(end.ready.place.ifname));
  const Place &place = end.ready.place;
  if (auto done = end.pins.create({place.ifname, place.netns->name()}); !done)
    return done;
  auto object = XR_TRY(Object::open(config, options.ring_bytes, end.pins));
  end.object = std::make_unique<Object>(std::move(object));
  if (second)
    if (auto done = end.object->share(other.pins); !done)
      return done;
  if (auto done = end.object->load(); !done)
    return done;
  const bool clones = config.features & ROCE_FEATURE_CLONE;
  return wire_bridge(end.pins, end.ifindex(), other.ifindex(), clones ? end.object->cnp_fd() : -1);
}

// Records in the pins that the bridge made the port promiscuous, so that detach undoes only that.
Status go_promiscuous(const BridgeEnd &end) {
  const std::string &ifname = end.ready.place.ifname;
  auto facts = XR_TRY(host::read_link({ifname}));
  if (facts.promiscuous)
    return {};
  auto done = end.pins.record(Pins::kPromiscuous, ifname);
  return done ? host::set_promiscuous(ifname, true) : done;
}

Status take_end(const BridgeEnd &end, const AttachOptions &options) {
  const std::string &ifname = end.ready.place.ifname;
  if (auto done = go_promiscuous(end); !done)
    return done;
  if (auto done = take_hook(end.ifindex(), mode_of(options), end.object->program_fd(), -1); !done) {
    return done.error().in(ifname);
  }
  if (bpf_obj_pin(end.object->program_fd(), end.pins.path(Pins::kProgram).c_str()) < 0)
    return errno_error(errno, fmt::format("cannot pin in {}", end.pins.directory()));
  return end.pins.record(Pins::kAlone,
                         "each frame leaves a bridge's port by the other port, so that a "
                         "program after it would see none");
}

Status build(BridgeEnd &a, BridgeEnd &b, const AttachOptions &options,
             std::vector<std::string> &notes) {
  roce_config config = make_config(options, take_frags(options, notes));
  if (auto done = load(a, b, config, false, options); !done)
    return done;
  if (auto done = load(b, a, config, true, options); !done)
    return done;
  if (auto done = take_end(a, options); !done)
    return done;
  return take_end(b, options);
}

// The statuses of both ports, if they are a bridge already. The caller holds the lock.
std::optional<std::vector<PortStatus>> bridged_ports(const std::string &a, const std::string &b,
                                                     const std::string &netns) {
  std::vector<PortStatus> ports;
  for (const auto &[ifname, peer] : {std::pair(a, b), std::pair(b, a)}) {
    auto place = find_place({ifname, netns}, find_bpffs());
    if (!place)
      return {};
    auto found = inspect(ifname, place->namespace_or_null(), place->ifindex, place->best_pins());
    if (!found || found->port.state != AttachState::Attached || found->port.peer != peer)
      return {};
    ports.push_back(std::move(found->port));
  }
  return ports;
}

// What makes a bridge that is there lose frames is repaired as for a new one.
Result<BridgeReport> repair(std::vector<PortStatus> ports, const std::string &netns) {
  BridgeReport report;
  const Place place = XR_TRY(find_place({ports[0].ifname, netns}, find_bpffs()));
  const auto inside = XR_TRY(place.netns->enter());
  report.troubles = XR_TRY(bridge_preflight(*place.netns, ports[0].ifname, ports[1].ifname,
                                            ports[0].mode == Mode::Skb, true));
  report.notes.emplace_back("the bridge is there already: only what makes it lose frames is "
                            "repaired");
  report.ports = std::move(ports);
  return report;
}

} // namespace

Result<BridgeReport> bridge(const std::string &a, const std::string &b, const std::string &netns,
                            const AttachOptions &options, bool fix) {
  BridgeReport report;
  XR_TRY(begin_call(host::Privilege::Load));
  XR_TRY(check_options(options));
  if (a == b)
    return Error{"a bridge needs two ports"};
  const auto lock = XR_TRY(Lock::take(Lock::Kind::Exclusive));
  if (auto ports = fix ? bridged_ports(a, b, netns) : std::nullopt)
    return repair(std::move(*ports), netns);
  for (const std::string &ifname : {a, b}) // before need_bpffs() mounts a bpffs
    XR_TRY(find_place({ifname, netns}, find_bpffs()).in(ifname));
  auto bpffs = XR_TRY(need_bpffs());
  std::vector<Prepared> ready;
  for (const std::string &ifname : {a, b}) {
    auto item = prepare({ifname, netns}, bpffs, report.notes);
    if (item && !item->port.programs.empty())
      item = busy(item->port, "a bridge's port is alone on its hook");
    if (!item)
      return item.error().in(ifname);
    ready.push_back(std::move(*item));
  }
  const auto inside = XR_TRY(ready[0].place.netns->enter());
  BridgeEnd first(std::move(ready[0]), bpffs), second(std::move(ready[1]), bpffs);
  const host::Netns &where = *first.ready.place.netns;
  const LinkRestart restart(where, {first.ifindex(), second.ifindex()});
  XR_TRY(build(first, second, options, report.notes));
  first.undo.disarm();
  second.undo.disarm();
  restart.wait(report.notes);
  // After both programs are attached: attaching changes some offloads.
  report.troubles = XR_TRY(bridge_preflight(where, a, b, mode_of(options) == Mode::Skb, fix));
  for (const BridgeEnd *end : {&first, &second}) {
    auto after = inspect(end->ready.place.ifname, &where, end->ifindex(), &end->pins);
    if (!after)
      return after.error();
    report.ports.push_back(std::move(after->port));
  }
  return report;
}

} // namespace xr::datapath
