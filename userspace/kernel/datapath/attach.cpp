// SPDX-License-Identifier: Apache-2.0
#include "datapath/attach.h"

#include <net/if.h>
#include <optional>

#include <bpf/bpf.h>

#include <fmt/format.h>

#include "datapath/join.h"
#include "datapath/link_restart.h"
#include "datapath/lock.h"
#include "datapath/log.h"
#include "datapath/prepare.h"
#include "host/driver_faults.h"
#include "host/link.h"
#include "host/privilege.h"

namespace xr::datapath {

namespace {

// The stream table addresses records in 24 bits.
constexpr uint32_t kStreamsMax = 16'777'214;
constexpr uint32_t kPairsMax = 1 << 20; // 1.2 GB to follow, 13 GB to time

} // namespace

Status check_options(const AttachOptions &options) {
  if (options.streams < 1 || options.streams > kStreamsMax)
    return Error{fmt::format("{} streams are not possible: the table has 1 to {}", options.streams,
                             kStreamsMax)};
  if (options.decap && options.rules)
    return Error{"rules apply to frames as they arrive, not to those inside tunnels",
                 "omit --rules or --decap"};
  const bool pairs = options.follow || options.latency;
  if (pairs && (options.pairs < 1 || options.pairs > kPairsMax))
    return Error{fmt::format("{} QP pairs are not possible: 1 to {}", options.pairs, kPairsMax)};
  if (pairs && !options.track)
    return Error{"QP pairs are found from their streams, and --no-track counts none",
                 "omit --follow and --latency, or --no-track"};
  if (options.job && !options.track)
    return Error{"bursts are those of streams, and --no-track counts none",
                 "omit --job or --no-track"};
  if (!options.udp_port)
    return Error{"UDP port 0 is not possible", "RoCEv2's is 4791"};
  return {};
}

namespace {

// The configuration of a port that counts together with that of these pins.
Status count_with(const Pins &pins, const std::string &ifname, roce_config &config) {
  const auto theirs = Maps::of_pins(pins).config();
  if (!theirs || theirs->abi != ROCE_ABI)
    return Error{fmt::format("it cannot count together with {}", ifname),
                 fmt::format("attach {} first; xdp-roce status shows what is attached", ifname)};
  config.hash_seed = theirs->hash_seed;
  config.streams = theirs->streams;
  config.buckets = theirs->buckets;
  config.pairs = theirs->pairs;
  constexpr uint32_t kOfPairs =
      ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME | ROCE_FEATURE_SKIP | ROCE_FEATURE_JOB;
  config.features = (config.features & ~kOfPairs) | (theirs->features & kOfPairs);
  return {};
}

// Order: maps are created and pinned, the program is attached to the hook, the program is pinned.
// If the process is killed in between, either the hook is empty and the pins are stale, or the
// program counts and its maps are pinned. No count is lost, and detach cleans up both cases.
Status put_on(const Place &place, const Bpffs &bpffs, const PortStatus &port,
              const AttachOptions &options, std::vector<std::string> &notes) {
  Pins pins(bpffs, place.netns->inode(), place.ifindex);
  const auto inside = XR_TRY(place.netns->enter());
  Undo undo(*place.netns, place.ifindex, bpffs, pins);
  roce_config config = make_config(options, take_frags(options, notes));
  config.quantum_ps = quantum_of(host::read_speed(place.ifname));
  std::optional<Pins> one_with;
  if (!options.one_with.empty()) {
    one_with.emplace(bpffs, place.netns->inode(), if_nametoindex(options.one_with.c_str()));
    if (auto done = count_with(*one_with, options.one_with, config); !done)
      return done;
  }
  const LinkRestart restart(*place.netns, {place.ifindex});
  auto joined =
      XR_TRY(join_hook(port, pins, config, options, one_with ? &*one_with : nullptr, notes));
  if (bpf_obj_pin(joined.object.program_fd(), pins.path(Pins::kProgram).c_str()) < 0)
    return errno_error(errno, fmt::format("cannot pin in {}", pins.directory()));
  if (auto done = pins.record(Pins::kAlone, joined.alone); !done)
    return done;
  undo.disarm();
  restart.wait(notes);
  if (auto link = host::read_link_at(place.ifindex); link && joined.mode == Mode::Native)
    if (const auto fault = host::native_fault(link->driver))
      notes.push_back(fmt::format("{} {}: --mode skb does not", link->driver, *fault));
  return {};
}

} // namespace

Result<AttachReport> attach(const PortName &port, const AttachOptions &options) {
  XR_TRY(begin_call(host::Privilege::Load));
  auto lock = Lock::take(Lock::Kind::Exclusive);
  return lock ? attach_held(port, options) : Result<AttachReport>(lock.error());
}

Result<AttachReport> attach_held(const PortName &port, const AttachOptions &options) {
  AttachReport report;
  XR_TRY(check_options(options));
  // Before need_bpffs() mounts a bpffs: a wrong interface name must change nothing.
  XR_TRY(find_place(port, find_bpffs()));
  auto bpffs = XR_TRY(need_bpffs());
  auto ready = XR_TRY(prepare(port, bpffs, report.notes));
  const Place *place = &ready.place;
  XR_TRY(put_on(*place, bpffs, ready.port, options, report.notes));

  Pins pins(bpffs, place->netns->inode(), place->ifindex);
  auto after = inspect(port.ifname, &*place->netns, place->ifindex, &pins);
  if (!after)
    return after.error();
  report.port = std::move(after->port);
  return report;
}

} // namespace xr::datapath
