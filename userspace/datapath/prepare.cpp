// SPDX-License-Identifier: Apache-2.0
#include "datapath/prepare.h"

#include "datapath/clean.h"
#include "datapath/object.h"
#include "datapath/privilege.h"

namespace xr::datapath {

namespace {

// Whether something of ours, or of somebody else's, is in the way.
Status check_free(const PortStatus &port) {
  switch (port.state) {
  case State::Attached:
    if (port.features & ROCE_FEATURE_PASSING)
      return Error{"a capture or an endpoint attached it for as long as it runs",
                   fmt::format("end that first, or xdp-roce detach {}", port.ifname)};
    return Error{fmt::format("already attached since {}", local_time(port.since_ns)),
                 fmt::format("xdp-roce detach {} first", port.ifname)};
  case State::OtherAbi:
    return Error{fmt::format("already attached by another version of xdp-roce ({})", abis(port)),
                 fmt::format("xdp-roce detach {} takes that one off too", port.ifname)};
  case State::Unpinned:
    return Error{"already attached by an xdp-roce whose pins are not here",
                 fmt::format("xdp-roce detach {} first", port.ifname)};
  default:
    break;
  }
  if (!port.programs.empty() && !port.dispatcher)
    return busy(port);
  return {};
}

// What former attachments left: gone interfaces of that name, or programs taken off by others.
Status clean_stale(const Place &place, const Bpffs &bpffs, std::vector<std::string> &notes) {
  std::vector<Pins> stale = place.stale;
  if (place.pins)
    stale.push_back(*place.pins);
  for (const Pins &pins : stale) {
    KernelIds freed;
    if (auto done = clean_pins(bpffs, pins, freed); !done)
      return done.error();
    notes.push_back("replaced a stale attachment, whose counts are gone");
  }
  return {};
}

} // namespace

Error busy(const PortStatus &port) {
  const char *off = port.mode == Mode::Skb ? "xdpgeneric" : "xdpdrv";
  std::string who = port.programs.empty() || port.programs.front().name.empty()
                        ? "another XDP program"
                        : fmt::format("another XDP program, {} (id {}),",
                                      port.programs.front().name, port.programs.front().id);
  std::string beside =
      port.dispatcher ? "this kernel does not let a second one join" : "it does not share it";
  return Error{fmt::format("{} is on the interface already and {}", who, beside),
               fmt::format("whoever put it there should take it off, or: ip link set dev {} {} off",
                           port.ifname, off)};
}

Error load_error(int error, uint32_t streams, const LogCapture &log) {
  std::string release = kernel_release(), reason = log.verifier_message();
  if (kernel_too_old(release))
    return Error{fmt::format("this kernel ({}) is too old", release), "5.15 or later is needed"};
  if (error == ENOMEM || error == E2BIG)
    return Error{fmt::format("not enough kernel memory for {} streams (250 bytes each)", streams),
                 "--streams with a smaller number, or --no-track"};
  if (error == EPERM)
    return Error{"the kernel does not let this process load the program",
                 reason.empty() ? "run it as root, outside any user namespace" : reason};
  return errno_error(error, "the kernel refused the program", reason);
}

bool take_frags(const AttachOptions &options, std::vector<std::string> &notes) {
  bool frags = options.frags && kernel_has_frags();
  if (options.frags && !frags)
    notes.push_back("this kernel has no XDP for frames in several buffers (5.18 has): a driver may "
                    "refuse a large MTU");
  return frags;
}

Undo::~Undo() {
  if (!armed_)
    return;
  KernelIds freed;
  (void)clean_hook(netns_, ifindex_, &pins_, freed);
  clean_promiscuous(netns_, pins_);
  (void)clean_pins(bpffs_, pins_, freed);
}

Result<Prepared> prepare(const std::string &ifname, const std::string &netns, const Bpffs &bpffs,
                         std::vector<std::string> &notes) {
  auto place = find_place(ifname, netns, bpffs);
  if (!place)
    return place.error();
  if (!place->ifindex)
    return Error{"no such interface",
                 fmt::format("there was one; xdp-roce detach {} cleans up after it", ifname)};
  auto before = inspect(ifname, &*place->netns, place->ifindex, place->best_pins());
  if (!before)
    return before.error();
  if (auto free = check_free(before->port); !free)
    return free.error();
  before->maps = {};
  if (auto done = clean_stale(*place, bpffs, notes); !done)
    return done.error();
  return Prepared{std::move(*place), std::move(before->port)};
}

} // namespace xr::datapath
