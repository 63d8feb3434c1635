// SPDX-License-Identifier: Apache-2.0
#include "datapath/exchange.h"

#include <linux/bpf.h>

#include <bpf/bpf.h>

#include <fmt/format.h>

#include "datapath/clean.h"
#include "datapath/map_names.h"
#include "datapath/object.h"
#include "datapath/remedy.h"

namespace xr::datapath {

namespace {

Status set_entry(const Pins &pins, const char *map, uint32_t key, unsigned ifindex, int program) {
  Fd fd = pins.open(map);
  bpf_devmap_val value{};
  value.ifindex = ifindex;
  value.bpf_prog.fd = program;
  if (bpf_map_update_elem(fd.get(), &key, &value, 0) < 0)
    return errno_error(errno, "cannot set the bridge's egress port",
                       "the driver of the other port may not support XDP redirect");
  return {};
}

} // namespace

Status wire_bridge(const Pins &pins, unsigned ifindex, unsigned peer_ifindex, int cnp_fd) {
  // The kernel sends a clone to each entry except the last, which gets the frame itself.
  if (cnp_fd >= 0)
    if (auto done = set_entry(pins, map_names::with_cnp, 0, ifindex, cnp_fd); !done)
      return done;
  if (!peer_ifindex)
    return {}; // the kernel removed the deleted port from the maps; its frames count as
               // not_forwarded
  if (auto done = set_entry(pins, map_names::forward, 0, peer_ifindex, -1); !done)
    return done;
  for (uint32_t key : {0, 1})
    if (auto done = set_entry(pins, map_names::twice, key, peer_ifindex, -1); !done)
      return done;
  return cnp_fd < 0 ? Status() : set_entry(pins, map_names::with_cnp, 1, peer_ifindex, -1);
}

// libxdp cannot replace one of several programs atomically.
Status check_exchangeable(const PortStatus &port, const std::string &instead) {
  if (!port.dispatcher)
    return {};
  for (const HookProgram &program : port.programs)
    if (program.id != port.program_id)
      return Error{fmt::format("another XDP program, {} (id {}), shares libxdp's dispatcher, "
                               "where no program can be exchanged",
                               program.name.empty() ? "?" : program.name, program.id),
                   instead};
  return {};
}

namespace {

// The dispatcher is no longer on the hook: removes its pins and records that the port is alone.
Status forget_dispatcher(const Pins &pins) {
  if (const auto bpffs = find_bpffs())
    sweep_dispatchers(*bpffs, pins);
  return pins.record(Pins::kAlone,
                     "its program was exchanged, for rules, sockets or a capture, and "
                     "no longer runs under libxdp's dispatcher; detach and attach "
                     "it, and others can join");
}

} // namespace

Status exchange(const Place &place, const PortStatus &port, const ProgramFeatures &needed) {
  const Pins &pins = *place.pins;
  Fd former(bpf_prog_get_fd_by_id(port.hook_id));
  bool next_is_on_hook = former && program_id(pins.open(Pins::kProgram).get()) != port.program_id;
  if (auto done = pins.settle_next(next_is_on_hook); !done)
    return done;
  auto config = Maps::of_pins(pins).config();
  if (!config)
    return Error{"the attachment's configuration cannot be read", attach_again(port)};
  config->features = needed.features;
  config->uses = needed.uses;
  const auto inside = XR_TRY(place.netns->enter());
  auto object = XR_TRY(Object::open(*config, 1 << 20, pins, Pins::kNext));
  auto swap = [&]() -> Status {
    if (auto done = object.load(); !done)
      return done;
    std::string program = pins.path(std::string(Pins::kProgram) + Pins::kNext);
    if (bpf_obj_pin(object.program_fd(), program.c_str()) < 0)
      return errno_error(errno, fmt::format("cannot pin in {}", pins.directory()));
    if (config->features & ROCE_FEATURE_CLONE) {
      const unsigned peer = port.peer.empty() ? 0 : port.peer_ifindex;
      if (auto done = wire_bridge(pins, place.ifindex, peer, object.cnp_fd()); !done)
        return done;
    }
    return take_hook(place.ifindex, port.mode, object.program_fd(), former.get());
  };
  if (auto done = swap(); !done) {
    (void)pins.settle_next(false);
    return done;
  }
  if (auto done = pins.settle_next(true); !done || !port.dispatcher)
    return done;
  return forget_dispatcher(pins);
}

} // namespace xr::datapath
