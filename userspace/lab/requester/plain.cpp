// SPDX-License-Identifier: Apache-2.0
#include "requester/plain.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace xr::requester {

using packet::FrameRate;
using packet::FrameSizes;
using packet::FrameSpan;
using packet::Wide;

namespace {

// In units of 2^-32 ns, rounded up, so that a frame is never early and the sum of 2^32
// intervals is late by less than 1 ns.
Wide interval(Wide units, uint64_t rate) {
  return ((units * 1'000'000'000 << 32) + rate - 1) / rate;
}

uint64_t rate_of(const PlainFlow &flow) {
  if (flow.rate.kind != FrameRate::Kind::Percent)
    return flow.rate.value;
  return static_cast<uint64_t>(
      std::llround(flow.rate.percent / 100 * static_cast<double>(flow.line_bits)));
}

Wide units_of(FrameRate::Kind kind, uint32_t size) {
  switch (kind) {
  case FrameRate::Kind::Packets:
    return 1;
  case FrameRate::Kind::Bits:
    return size * Wide{8};
  case FrameRate::Kind::Percent:
    break;
  }
  return (size + packet::kPreambleBytes + packet::kGapBytes) * Wide{8};
}

uint32_t bytes_to_nic(uint32_t size) { return size - packet::kFcsBytes; }

} // namespace

Status check_plain(const PlainFlow &flow) {
  const auto needs_line = [&](const packet::LineTime &time) {
    return time.bytes && time.value > packet::kGapBytes;
  };
  if (!flow.line_bits &&
      (flow.rate.kind == FrameRate::Kind::Percent || flow.span.gap > packet::kGapBytes ||
       needs_line(flow.span.delay) || needs_line(flow.span.between)))
    return Error{
        "a percentage, a gap or a delay in bytes refers to the line rate, which is not known",
        "packets or bits a second, and times"};
  if (flow.rate.kind != FrameRate::Kind::Percent && !flow.rate.value)
    return Error{"a rate of 0 sends nothing", "at least 1 a second"};
  if (flow.sizes.least < packet::kSmallestFrame ||
      bytes_to_nic(flow.sizes.least) < flow.frame.shortest())
    return Error{fmt::format("the headers need frames of {} bytes with FCS",
                             flow.frame.shortest() + packet::kFcsBytes),
                 "raise `least`"};
  return {};
}

namespace {

TaggedFrames tagged_frames(const PlainFlow &flow) {
  if (flow.tags.empty())
    return {};
  TaggedFrames made{std::make_shared<packet::FrameTags>(flow.frame, flow.tags), {}};
  made.sent.resize(made.tags->period());
  return made;
}

} // namespace

SourceFlow::SourceFlow(PlainFlow from) : SourceFlow(from, tagged_frames(from)) {}

SourceFlow::SourceFlow(PlainFlow from, TaggedFrames same_tags)
    : plan(std::move(from)), frame(plan.frame, bytes_to_nic(plan.sizes.largest())),
      tagged(std::move(same_tags)), rate(rate_of(plan)) {
  if (!frame.constant() || plan.sizes.kind != FrameSizes::Kind::Fixed)
    return;
  same.resize(bytes_to_nic(plan.sizes.of(0)));
  frame.write(0, static_cast<uint32_t>(same.size()), same);
}

PlainSource::PlainSource(std::vector<PlainFlow> flows, uint64_t to_stamps) : to_stamps_(to_stamps) {
  for (PlainFlow &flow : flows)
    add(std::move(flow));
}

void PlainSource::add(Flow flow) {
  make_room(flow.plan);
  flows_.emplace_back(std::move(flow));
}

void PlainSource::make_room(const PlainFlow &flow) {
  constexpr uint32_t kLine = 64; // of the cache
  stride_ = std::max(stride_, (flow.sizes.largest() + kLine - 1) / kLine * kLine);
}

void PlainSource::replace(size_t index, Flow with) {
  make_room(with.plan);
  with.counts = flows_[index].counts;
  if (with.tagged.sent.size() == flows_[index].tagged.sent.size())
    with.tagged.sent = flows_[index].tagged.sent;
  with.epoch = flows_[index].epoch;
  flows_[index] = std::move(with);
}

void PlainSource::update(size_t index, Flow with, uint64_t now) {
  const Flow &old = flows_[index];
  if (old.counts.state == PlainState::Stopped)
    return replace(index, std::move(with));
  const bool stamped = with.plan.frame.stamped;
  with.plan.frame = old.plan.frame; // its MACs may be forgotten by now
  with.plan.frame.stamped = stamped;
  make_room(with.plan);
  Flow made(std::move(with.plan), old.tagged);
  made.counts = old.counts;
  made.epoch = old.epoch;
  made.due = old.due;
  made.end = old.end;
  made.last_due = old.last_due;
  made.due_part = old.due_part;
  made.in_burst = old.in_burst;
  made.bursts = old.bursts;
  made.paused_at = old.paused_at;
  const bool paused = old.counts.state == PlainState::Paused;
  const bool between = made.plan.span.kind == FrameSpan::Kind::Bursts && !made.in_burst;
  const uint64_t at = paused ? made.paused_at : now;
  flows_[index] = std::move(made);
  Flow &flow = flows_[index];
  if (!flow.rate) {
    flow.due = kNever;
  } else if (flow.counts.frames && !between) {
    const uint32_t size = flow.plan.sizes.of(flow.counts.frames - 1);
    flow.due = std::max(at, flow.last_due + static_cast<uint64_t>(after(flow, size) >> 32));
  } else if (flow.due == kNever) {
    flow.due = at;
  }
  if (!paused)
    enqueue(index);
  forget_stale();
}

void PlainSource::start(size_t index, uint64_t now) {
  Flow &flow = flows_[index];
  const FrameSpan &span = flow.plan.span;
  flow.counts = {};
  std::ranges::fill(flow.tagged.sent, TaggedSent());
  flow.counts.state = PlainState::Started;
  flow.due = now + span.delay.ns(flow.plan.line_bits);
  flow.due_part = 0;
  flow.end = span.kind == FrameSpan::Kind::Time ? flow.due + span.ns : kNever;
  if (!flow.rate) // 0 percent: it waits for its end
    flow.due = kNever;
  flow.in_burst = flow.bursts = 0;
  enqueue(index);
  forget_stale();
}

void PlainSource::start(std::span<const size_t> which, uint64_t now) {
  for (size_t i = 0; i < which.size(); i++) {
    Flow &flow = flows_[which[i]];
    const FrameSpan &span = flow.plan.span;
    const bool given = span.delay.ns(flow.plan.line_bits) || !flow.rate ||
                       (span.kind == FrameSpan::Kind::Packets && span.packets == 1);
    const uint64_t phase =
        given
            ? 0
            : static_cast<uint64_t>((after(flow, flow.plan.sizes.of(0)) * i / which.size()) >> 32);
    start(which[i], now + phase);
  }
}

void PlainSource::stop(size_t index) {
  flows_[index].counts.state = PlainState::Stopped;
  flows_[index].epoch++;
  forget_stale();
}

void PlainSource::pause(size_t index, uint64_t now) {
  Flow &flow = flows_[index];
  if (flow.counts.state != PlainState::Started)
    return;
  flow.counts.state = PlainState::Paused;
  flow.paused_at = now;
  flow.epoch++;
  forget_stale();
}

void PlainSource::resume(size_t index, uint64_t now) {
  Flow &flow = flows_[index];
  if (flow.counts.state != PlainState::Paused)
    return;
  flow.counts.state = PlainState::Started;
  for (uint64_t *time : {&flow.due, &flow.end})
    if (*time != kNever)
      *time += now - flow.paused_at;
  enqueue(index);
}

void PlainSource::go_on(size_t index, uint64_t at, const PlainShare &share) {
  Flow &flow = flows_[index];
  if (flow.counts.state != PlainState::Stopped)
    return;
  flow.counts.state = PlainState::Started;
  flow.rate = share.rate ? share.rate : rate_of(flow.plan);
  flow.cached_size = 0;
  if (share.packets)
    flow.plan.span.packets = share.packets;
  flow.end = share.end;
  flow.due = flow.rate ? at : kNever;
  flow.due_part = 0;
  enqueue(index);
}

std::map<packet::TagValues, TaggedSent> TaggedFrames::by_values() const {
  std::map<packet::TagValues, TaggedSent> all;
  for (size_t i = 0; i < sent.size(); i++) {
    TaggedSent &sum = all[tags->of(i)];
    sum.frames += sent[i].frames;
    sum.bytes += sent[i].bytes;
  }
  return all;
}

TaggedFrames PlainSource::tagged(size_t flow) const { return flows_[flow].tagged; }

bool PlainSource::stamped(size_t flow) const {
  return flows_[flow].frame.stamped(bytes_to_nic(flows_[flow].plan.sizes.largest()));
}

void PlainSource::enqueue(size_t index) {
  Flow &flow = flows_[index];
  const uint64_t at = std::min(flow.due, flow.end);
  flow.epoch++;
  if (at != kNever)
    queue_.push({.at = at, .flow = index, .epoch = flow.epoch});
}

void PlainSource::forget_stale() {
  while (!queue_.empty() && queue_.top().epoch != flows_[queue_.top().flow].epoch)
    queue_.pop();
}

// From the start of a frame of this size to that of the next.
Wide PlainSource::after(Flow &flow, uint32_t size) {
  if (flow.cached_size == size)
    return flow.cached;
  flow.cached_size = size;
  flow.cached = interval(units_of(flow.plan.rate.kind, size), flow.rate);
  if (flow.plan.line_bits) // the fewest bytes between frames
    flow.cached = std::max(flow.cached,
                           interval((size + packet::kPreambleBytes + flow.plan.span.gap) * Wide{8},
                                    flow.plan.line_bits));
  return flow.cached;
}

// Sets when the next frame is due, or that it was the last.
void PlainSource::advance(Flow &flow, uint32_t size) {
  const FrameSpan &span = flow.plan.span;
  Wide wait = after(flow, size);
  if (span.kind == FrameSpan::Kind::Packets && flow.counts.frames >= span.packets)
    flow.counts.state = PlainState::Stopped;
  if (span.kind == FrameSpan::Kind::Bursts && ++flow.in_burst >= span.packets) {
    flow.in_burst = 0;
    if (++flow.bursts == span.bursts)
      flow.counts.state = PlainState::Stopped;
    wait = Wide{span.between.ns(flow.plan.line_bits)} << 32;
    if (flow.plan.line_bits)
      wait += interval((size + packet::kPreambleBytes) * Wide{8}, flow.plan.line_bits);
  }
  flow.last_due = flow.due;
  wait += flow.due_part;
  flow.due_part = static_cast<uint32_t>(wait);
  flow.due += static_cast<uint64_t>(wait >> 32);
}

void PlainSource::write(Flow &flow, uint64_t now, std::span<uint8_t> buffer,
                        packet::Outgoing &out) {
  PlainCounts &counts = flow.counts;
  const uint32_t size = flow.plan.sizes.of(counts.frames), bytes = bytes_to_nic(size);
  std::span<const uint8_t> raw = flow.same;
  if (raw.empty()) {
    flow.frame.write(counts.frames, bytes, buffer,
                     {.flow = flow.plan.id,
                      .sequence = static_cast<uint32_t>(counts.frames),
                      .time_ns = now + to_stamps_});
    raw = buffer.first(bytes);
  }
  out = {.shape = nullptr, .fields = {}, .raw = raw, .due = flow.due};
  counts.stamped += flow.frame.stamped(bytes);
  counts.first_ns = counts.frames ? counts.first_ns : now;
  counts.last_ns = now;
  if (auto &tagged = flow.tagged.sent; !tagged.empty()) {
    TaggedSent &sum = tagged[counts.frames % tagged.size()];
    sum.frames++;
    sum.bytes += size;
  }
  counts.frames++;
  counts.bytes += size;
  advance(flow, size);
}

size_t PlainSource::next(uint64_t now, std::span<packet::Outgoing> out) {
  if (arena_.size() < out.size() * stride_)
    arena_.resize(out.size() * stride_);
  size_t made = 0;
  while (made < out.size() && !queue_.empty() && queue_.top().at <= now) {
    const Entry entry = queue_.top();
    queue_.pop();
    Flow &flow = flows_[entry.flow];
    if (entry.epoch != flow.epoch)
      continue;
    if (flow.due != kNever && flow.due + kPatienceNs < now) {
      uint64_t late = now - kPatienceNs - flow.due;
      const Wide every =
          std::max<Wide>(1, after(flow, flow.plan.sizes.of(flow.counts.frames)) >> 32);
      late -= static_cast<uint64_t>(late % every); // the phase remains
      flow.due += late;
      flow.counts.slipped_ns += late;
    }
    if (flow.due >= flow.end) {
      flow.counts.state = PlainState::Stopped;
      continue;
    }
    write(flow, now, std::span(arena_).subspan(made * stride_, stride_), out[made]);
    made++;
    if (flow.counts.state == PlainState::Started)
      enqueue(entry.flow);
  }
  forget_stale();
  return made;
}

uint64_t PlainSource::wake_at() const { return queue_.empty() ? kNever : queue_.top().at; }

} // namespace xr::requester
