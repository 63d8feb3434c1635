// SPDX-License-Identifier: Apache-2.0
#include "datapath/prepare.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "datapath/clean.h"
#include "datapath/join.h"
#include "datapath/object.h"
#include "datapath/remedy.h"

namespace xr::datapath {

namespace {

// Error if the port is attached, or another program is on the hook that cannot be shared.
Status check_free(const PortStatus &port) {
  const std::string detach = command_for(port, "detach " + port.ifname);
  switch (port.state) {
  case AttachState::Attached:
    if (port.features & ROCE_FEATURE_PASSING)
      return Error{"a capture or an endpoint attached it for as long as it runs",
                   "end it first, or " + detach};
    return Error{fmt::format("already attached since {}", local_date_time(port.since_ns)),
                 detach + " first"};
  case AttachState::OtherAbi:
    return Error{fmt::format("already attached by another version of xdp-roce ({})", abis(port)),
                 detach + " also takes that program off"};
  case AttachState::Unpinned:
    return Error{"already attached by an xdp-roce whose pins are not here", detach + " first"};
  default:
    break;
  }
  if (!port.programs.empty() && !port.dispatcher)
    return busy(port);
  return {};
}

// Removes the pins of previous attachments: of deleted interfaces of that name, and of this
// interface if another tool took the program off.
Status clean_stale(const Place &place, const Bpffs &bpffs, std::vector<std::string> &notes) {
  std::vector<Pins> stale = place.stale;
  if (place.pins)
    stale.push_back(*place.pins);
  for (const Pins &pins : stale) {
    KernelIds freed;
    XR_TRY(clean_pins(bpffs, pins, freed));
    notes.push_back("replaced a stale attachment; its counts are lost");
  }
  return {};
}

} // namespace

bool take_frags(const AttachOptions &options, std::vector<std::string> &notes) {
  bool frags = options.frags && kernel_has_frags();
  if (options.frags && !frags)
    notes.push_back("this kernel does not support XDP on frames in several buffers (5.18 does): a "
                    "driver may refuse a large MTU");
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

Result<Prepared> prepare(const PortName &port, const Bpffs &bpffs,
                         std::vector<std::string> &notes) {
  auto place = find_place(port, bpffs);
  if (!place)
    return place.error();
  if (!place->ifindex)
    return Error{"no such interface",
                 fmt::format("it was deleted; xdp-roce {}detach {} cleans up after it",
                             port.netns.empty() ? "" : "--port.netns " + port.netns + " ",
                             port.ifname)};
  auto before = inspect(port.ifname, &*place->netns, place->ifindex, place->best_pins());
  if (!before)
    return before.error();
  XR_TRY(check_free(before->port));
  before->maps = {};
  XR_TRY(clean_stale(*place, bpffs, notes));
  return Prepared{std::move(*place), std::move(before->port)};
}

} // namespace xr::datapath
