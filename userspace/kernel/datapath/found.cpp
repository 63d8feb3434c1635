// SPDX-License-Identifier: Apache-2.0
// What following found on a port: the records of its QP pairs, and the newest episodes and findings
// (include/roce/found.h).
#include <algorithm>
#include <map>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "datapath/attached_port.h"
#include "datapath/counts.h"
#include "datapath/map_names.h"
#include "datapath/pair_names.h"
#include "datapath/remedy.h"
#include "roce/followed.h"
#include "roce/found.h"

namespace xr::datapath {

namespace {

constexpr uint32_t kRecordsAtOnce = 4096;

// Slots with a number that much below the newest are not being written any more.
constexpr uint64_t kSettled = 64;

// The complete slots after number `since`, which is set to the last of them; what is not there any
// more is added to `lost`. It ends before a slot that is still being written. A slot is taken from
// a first copy of the table, if it still had its number in a second one: then nothing changed it
// meanwhile.
template <typename Slot>
Result<std::vector<Slot>> read_slots(int fd, uint64_t newest, uint64_t &since, uint64_t &lost) {
  if (newest <= since)
    return std::vector<Slot>{};
  std::vector<Slot> slots(ROCE_FOUND_KEPT), again(ROCE_FOUND_KEPT);
  for (auto *copy : {&slots, &again})
    if (const int error = read_batch(fd, 0, ROCE_FOUND_KEPT, copy->data(), 0))
      return errno_error(error, "cannot read what following found");
  for (size_t i = 0; i < slots.size(); i++)
    if (slots[i].name.number != again[i].name.number)
      slots[i].name.number = 0;
  std::erase_if(slots, [&since](const Slot &slot) { return slot.name.number <= since; });
  std::ranges::sort(slots, {}, [](const Slot &slot) { return slot.name.number; });
  const uint64_t settled = newest - std::min(newest, kSettled);
  size_t taken = 0;
  for (; taken < slots.size(); taken++) {
    const uint64_t number = slots[taken].name.number;
    if (const uint64_t gone = std::min(number - 1, settled); gone > since) {
      lost += gone - since;
      since = gone;
    }
    if (number != since + 1)
      break;
    since = number;
  }
  slots.resize(taken);
  if (settled > since) {
    lost += settled - since;
    since = settled;
  }
  return slots;
}

Result<std::vector<roce_follow>> read_records(int fd, uint32_t used) {
  std::vector<roce_follow> records(used);
  for (uint32_t first = 0; first < used; first += kRecordsAtOnce)
    if (const int error =
            read_batch(fd, first, std::min(kRecordsAtOnce, used - first), &records[first], 0))
      return errno_error(error, "cannot read the QP pairs");
  return records;
}

// Adds the requests that were skipped since the last one that was followed.
void catch_up(roce_follow &pair, int streams) {
  roce_stream stream{};
  if (pair.flags & ROCE_FOLLOW_SKIPS && bpf_map_lookup_elem(streams, &pair.request, &stream) == 0)
    pair.requests = roce_follow_requests_so_far(&pair, &stream);
}

// Whether the requests of `key` entered this side of a bridge.
bool on_side(const roce_key &key, uint32_t side) { return (key.qp_kind & ROCE_KEY_SIDE) == side; }

// CNPs by their source, as far as their QPs are those of pairs.
std::vector<CnpRow> cnps_of(const std::vector<roce_follow> &records) {
  std::map<std::array<uint32_t, 4>, CnpRow> sources;
  for (const roce_follow &pair : records) {
    if (!pair.sum.cnps)
      continue;
    std::array<uint32_t, 4> source{};
    std::copy_n(pair.key.dst, 4, source.begin());
    CnpRow &row = sources[source];
    row.src = source;
    row.cnps += pair.sum.cnps;
    if (const uint64_t least = pair.sum.cnp_least_ns) {
      row.qps++;
      row.qp_ns = row.qp_ns ? std::min(row.qp_ns, least) : least;
    }
  }
  std::vector<CnpRow> rows;
  rows.reserve(sources.size());
  for (const auto &[source, row] : sources)
    rows.push_back(row);
  return rows;
}

} // namespace

Status AttachedPort::read_found(Episodes &to, Found &since, const roce_shared &shared,
                                const PairNames &names) const {
  const auto episodes = XR_TRY(read_slots<roce_found_episode>(
      maps_.fd(map_names::episodes), shared.episodes, since.episodes, to.episodes_dropped));
  const auto findings = XR_TRY(read_slots<roce_found_finding>(
      maps_.fd(map_names::findings), shared.findings, since.findings, to.findings_dropped));
  for (const auto &[name, episode] : episodes)
    if (on_side(name.request, status_.side))
      to.episodes.push_back(
          {names.of(name.request, episode.kind == ROCE_KIND_RESPONSE, name.response_qp), episode});
  for (const auto &[name, finding] : findings)
    if (on_side(name.request, status_.side))
      to.findings.push_back({names.of(name.request, false, name.response_qp), finding});
  return {};
}

AttachedPort::Found AttachedPort::newest_found() const {
  const roce_shared shared = maps_.shared();
  return {shared.episodes, shared.findings};
}

Result<Episodes> AttachedPort::ended_episodes(Found &since) const {
  Episodes to;
  if (auto done = read_found(to, since, maps_.shared(), PairNames(maps_.fd(map_names::streams)));
      !done)
    return done.error();
  return to;
}

Result<Episodes> AttachedPort::episodes(Found &since) const {
  if (!(status_.features & ROCE_FEATURE_FOLLOW))
    return Error{"it does not follow QP pairs", attach_again(status_, "--follow")};
  Snapshot counts;
  XR_TRY(read_counters(counts));
  const roce_shared shared = maps_.shared();
  auto records = XR_TRY(read_records(maps_.fd(map_names::follows),
                                     std::min(shared.follows_used, status_.pairs_capacity)));
  std::erase_if(records,
                [this](const roce_follow &pair) { return !on_side(pair.key, status_.side); });

  Episodes to;
  to.realtime_offset_ns = realtime_ns() - monotonic_ns();
  to.pairs_full = counts.totals.pairs_full;
  to.pairs_contended = counts.totals.pairs_contended;
  to.unpaired = counts.totals.pairs_unknown;
  to.cnps = cnps_of(records);
  PairNames names(maps_.fd(map_names::streams));
  for (roce_follow &pair : records) {
    names.add(pair.key, pair.response);
    catch_up(pair, maps_.fd(map_names::streams));
  }
  XR_TRY(read_found(to, since, shared, names));
  for (const roce_follow &pair : records) {
    if (pair.flags & ROCE_FOLLOW_OPEN)
      to.episodes.push_back({names.of(pair.key, pair.open.kind == ROCE_KIND_RESPONSE), pair.open});
    add_pair(to, pair, names.of(pair.key));
  }
  finish_found(to);
  return to;
}

} // namespace xr::datapath
