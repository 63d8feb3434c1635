// SPDX-License-Identifier: Apache-2.0
#include "datapath/attach.h"

#include <optional>

#include <bpf/bpf.h>
#include <xdp/libxdp.h>

#include "datapath/clean.h"
#include "datapath/lock.h"
#include "datapath/log.h"
#include "datapath/object.h"
#include "datapath/place.h"
#include "datapath/privilege.h"

namespace xr::datapath {

namespace {

// The stream table addresses records in 24 bits.
constexpr uint32_t kStreamsMax = 16'777'214;

Status check(const AttachOptions &options) {
  if (options.streams < 1 || options.streams > kStreamsMax)
    return Error{fmt::format("a table of {} streams is not possible: 1 to {} are", options.streams,
                             kStreamsMax)};
  if (!options.udp_port)
    return Error{"UDP port 0 is not possible", "RoCEv2's is 4791"};
  return {};
}

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

// Whether something of ours, or of somebody else's, is in the way.
Status check_free(const PortStatus &port) {
  switch (port.state) {
  case State::Attached:
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

Error load_error(int error, const AttachOptions &options, const LogCapture &log) {
  std::string release = kernel_release(), reason = log.verifier_message();
  if (kernel_too_old(release))
    return Error{fmt::format("this kernel ({}) is too old", release), "5.15 or later is needed"};
  if (error == ENOMEM || error == E2BIG)
    return Error{
        fmt::format("not enough kernel memory for {} streams (250 bytes each)", options.streams),
        "--streams with a smaller number, or --no-track"};
  if (error == EPERM)
    return Error{"the kernel does not let this process load the program",
                 reason.empty() ? "run it as root, outside any user namespace" : reason};
  return errno_error(error, "the kernel refused the program", reason);
}

Error hook_error(int error, Mode mode, const LogCapture &log) {
  std::string reason = log.kernel_message();
  Error refused = errno_error(error, fmt::format("{} XDP was refused", mode_name(mode)));
  if (error == EOPNOTSUPP && mode == Mode::Native)
    refused.message = "the driver has no native XDP";
  else if (!reason.empty())
    refused.message = fmt::format("{} XDP was refused: {}", mode_name(mode), reason);
  if (mode == Mode::Native)
    refused.hint = "--mode skb works with every driver, slower";
  return refused;
}

// Native, then, if the user leaves it to us, skb. What libxdp does: load, and attach behind its
// dispatcher or, where the kernel refuses that, alone; never over somebody else's program.
Status put_on_hook(const Object &object, const PortStatus &port, const AttachOptions &options,
                   std::vector<std::string> &notes) {
  LogCapture log;
  auto attach_as = [&](Mode mode) {
    return -xdp_program__attach(object.handle(), static_cast<int>(port.ifindex),
                                mode == Mode::Skb ? XDP_MODE_SKB : XDP_MODE_NATIVE, 0);
  };
  Mode mode = options.mode == Mode::Skb ? Mode::Skb : Mode::Native;
  int error = attach_as(mode);
  if (!error)
    return {};
  if (object.program_fd() < 0)
    return load_error(error, options, log);
  if (error == EBUSY || error == EEXIST)
    return busy(port);
  Error refused = hook_error(error, mode, log);
  if (options.mode != Mode::Auto)
    return refused;
  if ((error = attach_as(Mode::Skb)))
    return hook_error(error, Mode::Skb, log);
  notes.push_back(fmt::format("{}: attached in skb mode, which is slower", refused.message));
  return {};
}

// An attach that fails leaves the interface as it was.
class Undo {
public:
  Undo(const Netns &netns, unsigned ifindex, const Bpffs &bpffs, const Pins &pins)
      : netns_(netns), ifindex_(ifindex), bpffs_(bpffs), pins_(pins) {}
  ~Undo() {
    if (!armed_)
      return;
    KernelIds freed;
    (void)clean_hook(netns_, ifindex_, &pins_, freed);
    (void)clean_pins(bpffs_, pins_, freed);
  }
  Undo(const Undo &) = delete;
  Undo &operator=(const Undo &) = delete;
  void disarm() { armed_ = false; }

private:
  const Netns &netns_;
  unsigned ifindex_;
  const Bpffs &bpffs_;
  const Pins &pins_;
  bool armed_ = true;
};

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

// Maps are pinned as they are made, then the program goes on the hook, then it is pinned itself.
// Killed anywhere between, either the hook is empty and the pins are stale, or the program counts
// and its maps are pinned: nothing is lost, and detach cleans both.
Status put_on(const Place &place, const Bpffs &bpffs, const PortStatus &port,
              const AttachOptions &options, std::vector<std::string> &notes) {
  Pins pins(bpffs, place.netns->inode(), place.ifindex);
  bool frags = options.frags && kernel_has_frags();
  if (options.frags && !frags)
    notes.push_back("this kernel has no XDP for frames in several buffers (5.18 has): a driver may "
                    "refuse a large MTU");
  auto scope = place.netns->enter();
  if (!scope)
    return scope.error();
  Undo undo(*place.netns, place.ifindex, bpffs, pins);
  if (auto done = pins.create(place.ifname, place.netns->name()); !done)
    return done;
  auto object = Object::open(options, frags, pins);
  if (!object)
    return object.error();
  if (auto done = put_on_hook(*object, port, options, notes); !done)
    return done;
  if (bpf_obj_pin(object->program_fd(), pins.path(Pins::kProgram).c_str()) < 0)
    return errno_error(errno, fmt::format("cannot pin in {}", pins.directory()));
  undo.disarm();
  return {};
}

} // namespace

Result<AttachReport> attach(const std::string &ifname, const std::string &netns,
                            const AttachOptions &options) {
  AttachReport report;
  if (auto allowed = check_privilege(Privilege::Load); !allowed)
    return allowed.error();
  if (auto sound = check(options); !sound)
    return sound.error();
  auto lock = Lock::take(Lock::Kind::Exclusive);
  if (!lock)
    return lock.error();
  // Before a bpffs is mounted for it: the interface may be a slip of the pen.
  if (auto place = find_place(ifname, netns, find_bpffs()); !place)
    return place.error();
  auto bpffs = need_bpffs();
  if (!bpffs)
    return bpffs.error();
  auto place = find_place(ifname, netns, *bpffs);
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
  if (auto done = clean_stale(*place, *bpffs, report.notes); !done)
    return done.error();
  if (auto done = put_on(*place, *bpffs, before->port, options, report.notes); !done)
    return done.error();

  Pins pins(*bpffs, place->netns->inode(), place->ifindex);
  auto after = inspect(ifname, &*place->netns, place->ifindex, &pins);
  if (!after)
    return after.error();
  report.port = std::move(after->port);
  if (!report.port.dispatcher)
    report.notes.push_back("alone on the XDP hook: this kernel refuses libxdp's dispatcher, so no "
                           "other XDP program can join");
  return report;
}

} // namespace xr::datapath
