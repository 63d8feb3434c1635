// SPDX-License-Identifier: Apache-2.0
#include "datapath/attach.h"

#include <optional>

#include <bpf/bpf.h>
#include <xdp/libxdp.h>

#include "datapath/lock.h"
#include "datapath/log.h"
#include "datapath/object.h"
#include "datapath/prepare.h"
#include "datapath/privilege.h"

namespace xr::datapath {

namespace {

// The stream table addresses records in 24 bits.
constexpr uint32_t kStreamsMax = 16'777'214;

} // namespace

Status check_options(const AttachOptions &options) {
  if (options.streams < 1 || options.streams > kStreamsMax)
    return Error{fmt::format("a table of {} streams is not possible: 1 to {} are", options.streams,
                             kStreamsMax)};
  if (!options.udp_port)
    return Error{"UDP port 0 is not possible", "RoCEv2's is 4791"};
  return {};
}

namespace {

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
Status put_on_hook(Object &object, const PortStatus &port, const AttachOptions &options,
                   std::vector<std::string> &notes) {
  LogCapture log;
  auto opened = object.handle(options.priority);
  if (!opened)
    return opened.error();
  xdp_program *handle = *opened;
  auto attach_as = [&](Mode mode) {
    return -xdp_program__attach(handle, static_cast<int>(port.ifindex),
                                mode == Mode::Skb ? XDP_MODE_SKB : XDP_MODE_NATIVE, 0);
  };
  Mode mode = options.mode == Mode::Skb ? Mode::Skb : Mode::Native;
  int error = attach_as(mode);
  if (!error)
    return {};
  if (object.program_fd() < 0)
    return load_error(error, options.streams, log);
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

// Maps are pinned as they are made, then the program goes on the hook, then it is pinned itself.
// Killed anywhere between, either the hook is empty and the pins are stale, or the program counts
// and its maps are pinned: nothing is lost, and detach cleans both.
Status put_on(const Place &place, const Bpffs &bpffs, const PortStatus &port,
              const AttachOptions &options, std::vector<std::string> &notes) {
  Pins pins(bpffs, place.netns->inode(), place.ifindex);
  auto scope = place.netns->enter();
  if (!scope)
    return scope.error();
  Undo undo(*place.netns, place.ifindex, bpffs, pins);
  if (auto done = pins.create(place.ifname, place.netns->name()); !done)
    return done;
  auto object =
      Object::open(make_config(options, take_frags(options, notes)), options.ring_bytes, pins);
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
  if (auto allowed = check_privilege(Privilege::Load); !allowed)
    return allowed.error();
  auto lock = Lock::take(Lock::Kind::Exclusive);
  return lock ? attach_held(ifname, netns, options) : Result<AttachReport>(lock.error());
}

Result<AttachReport> attach_held(const std::string &ifname, const std::string &netns,
                                 const AttachOptions &options) {
  AttachReport report;
  if (auto sound = check_options(options); !sound)
    return sound.error();
  // Before a bpffs is mounted for it: the interface may be a slip of the pen.
  if (auto place = find_place(ifname, netns, find_bpffs()); !place)
    return place.error();
  auto bpffs = need_bpffs();
  if (!bpffs)
    return bpffs.error();
  auto ready = prepare(ifname, netns, *bpffs, report.notes);
  if (!ready)
    return ready.error();
  const Place *place = &ready->place;
  if (auto done = put_on(*place, *bpffs, ready->port, options, report.notes); !done)
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
