// SPDX-License-Identifier: Apache-2.0
#include "datapath/wire_reading.h"

#include <cstring>
#include <utility>

#include <bpf/bpf.h>

#include <fmt/format.h>

#include "datapath/counts.h"
#include "datapath/lock.h"
#include "datapath/log.h"
#include "datapath/map_names.h"
#include "datapath/remedy.h"
#include "host/privilege.h"
#include "roce/counters.h"
#include "roce/hold.h"

namespace xr::datapath {

namespace {}

Error no_bridge(const PortStatus &port) {
  return {fmt::format("{} is no port of a bridge", port.ifname), make_bridge(port, "bridge")};
}

LinkWords link_words_in(int map) {
  auto note = std::make_unique<roce_link_note>();
  if (map < 0 || bpf_map_lookup_elem(map, &kOnlyKey, note.get()) < 0)
    return {};
  note->text[sizeof(note->text) - 1] = 0;
  return {note->text, note->changes, note->since_ns};
}

namespace {

// For reading; takes no lock.
Result<Inspected> look_up_bridge_port(const PortName &port) {
  XR_TRY(begin_call(host::Privilege::Read));
  auto found = look_up(port);
  if (!found)
    return found.error();
  if (found->port.state != AttachState::Attached || !(found->port.features & ROCE_FEATURE_FORWARD))
    return no_bridge(found->port);
  return found;
}

} // namespace

Result<LinkWords> read_link_words(const PortName &port) {
  auto found = XR_TRY(look_up_bridge_port(port));
  return link_words_in(found.maps.fd(map_names::link));
}

Result<uint64_t> read_handed_over(int totals) {
  auto sums = XR_TRY(sum_over_cpus<roce_totals>(totals, 1));
  return sums.front().held;
}

Result<WireReading> read_wire(const PortName &port) {
  auto found = XR_TRY(look_up_bridge_port(port));
  WireReading reading;
  if (!(found.port.features & ROCE_FEATURE_HOLD))
    return reading;
  // First, since a process that begins takes it and then clears the previous one's counts.
  const bool taken =
      Lock::port_is_taken(found.port.netns_inode, found.port.ifindex, Lock::Use::Wire);
  auto memory = std::make_unique<roce_wire_memory>();
  if (bpf_map_lookup_elem(found.maps.fd(map_names::wire), &kOnlyKey, memory.get()) < 0)
    return errno_error(errno, "cannot read the wire's counters");
  auto counts = std::make_shared<WirePortCounts>();
  memcpy(static_cast<void *>(counts.get()), memory.get(), sizeof(*counts));
  if (counts->version != WirePortCounts::kVersion)
    return reading;
  reading.running = taken && counts->ready;
  if (!reading.running) {
    auto handed_over = XR_TRY(read_handed_over(found.maps.fd(map_names::totals)));
    counts->in.lost_when_killed += counts->in.unaccounted(handed_over);
  }
  reading.counts = std::move(counts);
  return reading;
}

} // namespace xr::datapath
