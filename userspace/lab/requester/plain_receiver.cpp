// SPDX-License-Identifier: Apache-2.0
#include "requester/plain_receiver.h"

#include <algorithm>

#include "packet/frame_schedule.h"
#include "packet/trailer.h"

namespace xr::requester {

PlainReceiver::PlainReceiver(size_t flows, std::vector<Unstamped> unstamped)
    : flows_(flows), unstamped_(std::move(unstamped)) {}

void PlainReceiver::expect(size_t flows, std::vector<Unstamped> unstamped) {
  flows_.resize(flows);
  unstamped_ = std::move(unstamped);
}

void PlainReceiver::clear(size_t flow) {
  PlainMeasure how = std::move(flows_[flow].how);
  flows_[flow] = {};
  flows_[flow].how = std::move(how);
}

// The sequence of the stamp has 32 bits: of the numbers with these, the one that is nearest to what
// is expected. Returns it.
uint64_t PlainReceiver::place(Flow &flow, uint32_t sequence) {
  PlainReceived &counts = flow.counts;
  if (!flow.seen)
    flow.seen = std::make_unique<std::bitset<kWindow>>();
  auto &seen = *flow.seen;
  const auto ahead = static_cast<int32_t>(sequence - static_cast<uint32_t>(flow.next));
  if (ahead >= 0 || flow.next < uint64_t{0} - static_cast<uint64_t>(int64_t{ahead})) {
    // It is new: those before it are missing until they arrive.
    const uint64_t skipped = sequence - static_cast<uint32_t>(flow.next);
    if (skipped >= kWindow)
      seen.reset();
    else
      for (uint64_t i = 0; i < skipped; i++)
        seen.reset((flow.next + i) % kWindow);
    counts.missing += skipped;
    flow.next += skipped + 1;
    seen.set((flow.next - 1) % kWindow);
    return flow.next - 1;
  }
  const uint64_t number = flow.next - static_cast<uint64_t>(-int64_t{ahead});
  const bool known = flow.next - number <= kWindow;
  if (known && seen.test(number % kWindow)) {
    counts.duplicates++;
    return number;
  }
  if (known)
    seen.set(number % kWindow);
  counts.late++;
  counts.missing -= counts.missing ? 1 : 0;
  return number;
}

PlainReceived &PlainReceiver::count(size_t flow, uint64_t now, size_t bytes) {
  PlainReceived &counts = flows_[flow].counts;
  counts.first_ns = counts.frames ? counts.first_ns : now;
  counts.last_ns = now;
  counts.frames++;
  counts.bytes += bytes + packet::kFcsBytes;
  return counts;
}

TaggedReceived *PlainReceiver::tag(Flow &flow, uint64_t now, std::span<const uint8_t> frame,
                                   std::optional<uint64_t> number) {
  const PlainMeasure &how = flow.how;
  if (!how.tagged)
    return nullptr;
  packet::TagValues values =
      number ? how.sent.of(*number) : packet::tag_values(how.sent_ranges, frame);
  for (const packet::Wide value : packet::tag_values(how.received, frame))
    values.push_back(value);
  auto at = flow.tagged.find(values);
  if (at == flow.tagged.end()) {
    if (flow.tagged.size() == kMostTagged) {
      flow.untagged++;
      return nullptr;
    }
    at = flow.tagged.emplace(std::move(values), TaggedReceived{}).first;
  }
  TaggedReceived &counts = at->second;
  counts.first_ns = counts.frames ? counts.first_ns : now;
  counts.last_ns = now;
  counts.frames++;
  counts.bytes += frame.size() + packet::kFcsBytes;
  return &counts;
}

namespace {

template <typename Counts> void add_latency(Counts &counts, uint64_t latency) {
  counts.latency_min_ns = counts.timed ? std::min(counts.latency_min_ns, latency) : latency;
  counts.latency_max_ns = std::max(counts.latency_max_ns, latency);
  counts.latency_sum_ns += latency;
  counts.timed++;
}

uint64_t on_line_ns(size_t bytes, uint64_t bits) {
  return bits ? (bytes + packet::kFcsBytes) * 8'000'000'000 / bits : 0;
}

} // namespace

bool PlainReceiver::receive_unstamped(uint64_t now, std::span<const uint8_t> frame) {
  for (const Unstamped &each : unstamped_)
    if (each.headers.holds(frame)) {
      count(each.flow, now, frame.size()).unstamped++;
      (void)tag(flows_[each.flow], now, frame, {});
      return true;
    }
  return false;
}

bool PlainReceiver::receive(uint64_t now, std::span<const uint8_t> frame) {
  const auto stamp = packet::read_trailer(frame);
  if (!stamp || stamp->flow >= flows_.size())
    return receive_unstamped(now, frame);
  PlainReceived &counts = count(stamp->flow, now, frame.size());
  Flow &flow = flows_[stamp->flow];
  TaggedReceived *const tagged = tag(flow, now, frame, place(flow, stamp->sequence));
  if (now < stamp->time_ns) {
    counts.before++;
    return true;
  }
  const uint64_t on_lines =
      on_line_ns(frame.size(), flow.how.tx_bits) + on_line_ns(frame.size(), flow.how.rx_bits);
  const uint64_t took = now - stamp->time_ns, latency = took - std::min(took, on_lines);
  add_latency(counts, latency);
  if (tagged)
    add_latency(*tagged, latency);
  return true;
}

} // namespace xr::requester
