// SPDX-License-Identifier: Apache-2.0
#include "datapath/attached_port.h"

#include <algorithm>
#include <vector>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "datapath/counts.h"
#include "datapath/map_names.h"
#include "datapath/place.h"
#include "datapath/remedy.h"

namespace xr::datapath {

namespace {

// Records per system call: enough to make the call cheap, few enough to let other threads run
// between two calls.
constexpr uint32_t kDumpedAtOnce = 4096;

} // namespace

Result<AttachedPort> AttachedPort::open(const PortName &where) {
  AttachedPort port;
  auto found = look_up(where);
  if (!found)
    return found.error();
  port.status_ = std::move(found->port);
  port.maps_ = std::move(found->maps);
  AttachState state = port.status_.state;
  if (state != AttachState::Attached && state != AttachState::Unpinned)
    return not_readable(port.status_);
  if (state == AttachState::Attached)
    port.directory_ = std::move(found->directory);
  for (const char *name :
       {map_names::opcodes, map_names::totals, map_names::streams, map_names::asides,
        map_names::shared, map_names::events, map_names::rodata})
    if (port.maps_.fd(name) < 0)
      return Error{fmt::format("the attachment's map {} cannot be opened", name),
                   attach_again(port.status_)};
  return port;
}

Result<bool> AttachedPort::alive() const { return is_still_attached(status_); }

Status AttachedPort::read_counters(Snapshot &to) const {
  auto opcodes =
      XR_TRY(sum_over_cpus<roce_opcode_count>(maps_.fd(map_names::opcodes), ROCE_OPCODE_COUNTS));
  std::copy(opcodes.begin(), opcodes.end(), to.opcodes.begin());
  auto totals = XR_TRY(sum_over_cpus<roce_totals>(maps_.fd(map_names::totals), 1));
  to.totals = totals.front();
  const roce_shared shared = maps_.shared();
  std::ranges::copy(shared.causes[status_.side != 0], to.episodes.begin());
  return read_classes(to);
}

Status AttachedPort::read_classes(Snapshot &to) const {
  to.quantum_ps = status_.quantum_ps;
  if (int error = read_batch(maps_.fd(map_names::pfc), 0, ROCE_PFC_COUNTS, to.pfc.data(), 0))
    return errno_error(error, "cannot read what is paused");
  for (roce_pfc &pfc : to.pfc)
    pfc.paused_ns = roce_pfc_paused(&pfc, to.time_ns);
  if (!(status_.features & ROCE_FEATURE_CLASSES))
    return {};
  to.classes =
      XR_TRY(sum_over_cpus<roce_class_count>(maps_.fd(map_names::classes), ROCE_CLASS_COUNTS));
  return {};
}

Status AttachedPort::read_streams(Snapshot &to) const {
  uint32_t used = std::min(maps_.shared().streams_used, status_.streams_capacity);
  // The kernel copies each record with its lock held, so that it is consistent. Kernels without
  // BPF_F_LOCK for batches return EINVAL.
  uint64_t flags = BPF_F_LOCK;

  to.streams.resize(used);
  for (uint32_t first = 0; first < used;) {
    uint32_t count = std::min(kDumpedAtOnce, used - first);
    int error = read_batch(maps_.fd(map_names::streams), first, count, &to.streams[first], flags);
    if (error == EINVAL && flags) {
      flags = 0;
      continue;
    }
    if (error)
      return errno_error(error, "cannot read the streams");
    first += count;
  }
  if (status_.decap) {
    to.mirrored.resize(used);
    if (read_batch(maps_.fd(map_names::mirrored), 0, used, to.mirrored.data(), 0))
      to.mirrored.clear();
  }
  keep_own(to, read_numbers());
  return {};
}

// The sessions that were seen.
Status AttachedPort::read_mirrors(Snapshot &to) const {
  to.decap = status_.decap;
  if (!status_.decap)
    return {};
  std::vector<roce_mirror> table(ROCE_MIRRORS);
  if (int error = read_batch(maps_.fd(map_names::mirrors), 0, ROCE_MIRRORS, table.data(), 0))
    return errno_error(error, "cannot read the mirror sessions");
  for (uint32_t slot = 0; slot < ROCE_MIRRORS; slot++) {
    if (!table[slot].check)
      continue;
    to.mirrors.push_back(table[slot]);
    to.mirror_slots.push_back(slot);
  }
  return {};
}

// The map `asides`, indexed by record id & (ROCE_ASIDES - 1); empty if it cannot be read.
std::vector<roce_aside> AttachedPort::read_numbers() const {
  std::vector<roce_aside> asides(ROCE_ASIDES);
  if (read_batch(maps_.fd(map_names::asides), 0, ROCE_ASIDES, asides.data(), 0))
    asides.clear();
  return asides;
}

// Keeps the streams of this port: removes those of the bridge's other port, and records without
// packets (announced by RDMA CM, or just allocated).
void AttachedPort::keep_own(Snapshot &to, const std::vector<roce_aside> &asides) const {
  size_t kept = 0;
  const uint32_t word = ROCE_HINTS_NUMBERS + (status_.side != 0);
  uint64_t before = 0;
  (void)bpf_map_lookup_elem(maps_.fd(map_names::hints), &word, &before); // fails without tracking
  for (size_t id = 0; id < to.streams.size(); id++) {
    roce_stream stream = to.streams[id];
    if ((stream.key.qp_kind & ROCE_KEY_SIDE) != status_.side || !roce_stream_packets(&stream))
      continue;
    stream.key.qp_kind &= ~ROCE_KEY_SIDE;
    const auto record = static_cast<uint32_t>(id);
    to.qp_numbers.push_back(
        asides.empty() ? 0 : roce_number_in(&asides[id & (ROCE_ASIDES - 1)], record, before));
    if (id < to.mirrored.size())
      to.mirrored[kept] = to.mirrored[id];
    to.streams[kept++] = stream;
  }
  to.streams.resize(kept);
  if (!to.mirrored.empty())
    to.mirrored.resize(kept);
}

Result<Snapshot> AttachedPort::snapshot(bool with_streams) const {
  Snapshot snapshot;
  snapshot.source = Snapshot::Source::Interface;
  snapshot.name = status_.ifname;
  snapshot.tracked = status_.track;
  snapshot.followed = status_.features & ROCE_FEATURE_FOLLOW;
  snapshot.stream_capacity = status_.streams_capacity;
  snapshot.time_ns = monotonic_ns();
  XR_TRY(read_counters(snapshot));
  XR_TRY(read_mirrors(snapshot));
  if (with_streams)
    XR_TRY(read_streams(snapshot));
  return snapshot;
}

} // namespace xr::datapath
