// SPDX-License-Identifier: Apache-2.0
#include "compare/window.h"

#include <algorithm>
#include <bit>
#include <new>

namespace xr::compare {

namespace {

bool same_packet(const Sight &a, const Sight &b) {
  return a.stream == b.stream && a.token == b.token;
}

// The usual difference of a stream follows each packet that was seen once at each place.
constexpr int64_t kSlowness = 8;

} // namespace

Window::Window(const Options &options, int64_t shift_ns, Judge &judge)
    : options_(options), shift_ns_(shift_ns), judge_(judge),
      capacity_(std::bit_floor(std::max<size_t>(options.sights, 64))),
      ring_(static_cast<Slot *>(std::calloc(capacity_, sizeof(Slot)))), buckets_(capacity_, kNone),
      mask_(capacity_ - 1), least_window_ns_(options.window_ns) {
  if (!ring_)
    throw std::bad_alloc();
}

size_t Window::bytes_per_sight() { return sizeof(Slot) + sizeof(uint32_t); }

void Window::set_stream(uint32_t stream, const Path &path) {
  if (stream >= streams_.size())
    streams_.resize(stream + 1);
  streams_[stream] = {path, true};
}

uint32_t &Window::bucket(const Sight &sight) {
  uint64_t hash = (uint64_t{sight.stream} << 32 | sight.token) * 0x9e3779b97f4a7c15;
  hash ^= hash >> 29;
  return buckets_[hash & mask_];
}

// Chains have only the newest sight of each packet; older ones are reached from the oldest by
// `newer`. Entries older than the ring's tail end a chain. Returns the newest one of this packet,
// if any, and takes it out.
uint32_t Window::unlink_newest(uint32_t &first, const Sight &sight) {
  uint32_t *link = &first;
  while (alive(*link)) {
    const uint32_t index = *link;
    if (same_packet(at(index).sight, sight)) {
      *link = at(index).older;
      return index;
    }
    link = &at(index).older;
  }
  return kNone;
}

void Window::learn(const Slot &slot, const Slot &other) {
  const Slot &first = slot.place ? other : slot, &second = slot.place ? slot : other;
  Path &path = streams_[slot.sight.stream].path;
  const auto difference =
      static_cast<int64_t>(second.sight.mark.time_ns - first.sight.mark.time_ns);
  path.usual_ns += (difference - path.usual_ns) / kSlowness;
}

void Window::add(unsigned place, const Sight &sight) {
  const int64_t common = static_cast<int64_t>(sight.mark.time_ns) + (place ? 0 : shift_ns_);
  now_ns_ = std::max(now_ns_, common);
  while (tail_ != head_ && now_ns_ - at(static_cast<uint32_t>(tail_)).common_ns >
                               static_cast<int64_t>(options_.window_ns))
    decide_oldest();
  if (head_ - tail_ == capacity_) {
    decided_early_++;
    const int64_t waited = now_ns_ - at(static_cast<uint32_t>(tail_)).common_ns;
    least_window_ns_ =
        std::min(least_window_ns_, static_cast<uint64_t>(std::max(waited, int64_t{0})));
    decide_oldest();
  }
  if (static_cast<uint32_t>(head_) == kNone) { // the number that means none
    at(kNone).state = State::Done;
    at(kNone).common_ns = common;
    head_++;
    add(place, sight);
    return;
  }
  const auto index = static_cast<uint32_t>(head_);
  uint32_t &first = bucket(sight);
  const uint32_t previous = unlink_newest(first, sight);
  Slot &slot = at(index);
  slot.sight = sight;
  slot.common_ns = common;
  slot.usual_ns = streams_[sight.stream].path.usual_ns;
  slot.older = first;
  slot.newer = kNone;
  slot.rank = 0;
  slot.place = static_cast<uint8_t>(place);
  slot.state = State::Open;
  slot.copy = false;
  first = index;
  head_++;
  if (previous == kNone)
    return;
  Slot &before = at(previous);
  before.newer = index;
  slot.rank = before.rank + 1;
  slot.copy =
      before.state == State::Met && before.place == place && before.sight.print == sight.print;
  if (!before.rank && before.place != place)
    learn(slot, before);
}

void Window::finish() {
  while (tail_ != head_)
    decide_oldest();
}

void Window::decide_oldest() {
  Slot &oldest = at(static_cast<uint32_t>(tail_));
  if (oldest.state == State::Met)
    judge_.matched(oldest.sight, oldest.partner);
  else if (oldest.state == State::Open)
    resolve(oldest);
  tail_++;
}

void Window::resolve(Slot &oldest) {
  if (!alive(oldest.newer))
    return leave(oldest);
  Slot &other = at(oldest.newer);
  const bool two = !oldest.rank && !alive(other.newer);
  if (two && other.state == State::Open && other.place != oldest.place)
    return join(oldest, other);
  resolve_group(oldest);
}

// Several sights of one packet: decides the oldest, and marks copies.
void Window::resolve_group(Slot &oldest) {
  const Path &path = streams_[oldest.sight.stream].path;
  Candidates candidates[2];
  uint32_t indexes[2][kMostTogether] = {};
  for (auto index = static_cast<uint32_t>(tail_); alive(index); index = at(index).newer) {
    const Slot &slot = at(index);
    if (slot.state != State::Open)
      continue;
    Candidates &of = candidates[slot.place];
    if (of.count == kMostTogether) {
      of.complete = false;
      if (!candidates[!slot.place].complete)
        break;
      continue;
    }
    indexes[slot.place][of.count] = index;
    // The second place's times without the usual difference.
    of.at[of.count++] = {.time_ns = static_cast<int64_t>(slot.sight.mark.time_ns) -
                                    (slot.place ? slot.usual_ns : 0),
                         .print = slot.sight.print,
                         .earliest_ns = path.earliest_ns(slot.usual_ns),
                         .impossible_ns = path.impossible_ns(slot.usual_ns),
                         .copy = slot.copy,
                         .bad = (slot.sight.mark.flags & Mark::kBadIcrc) != 0};
  }
  const unsigned arrival = is_arrival(oldest) ? oldest.place : !oldest.place;
  const Assignment result = assign(candidates[!arrival], candidates[arrival], path.margin_ns);
  const auto &of_arrival = result.of_second;
  const int16_t partner = oldest.place == arrival ? result.of_second[0] : result.of_first[0];
  // Not matched, but a sight with the same content was: a copy, unless it is matched later.
  for (size_t i = 0; i < candidates[arrival].count; i++) {
    if (of_arrival[i] != Assignment::kNone)
      continue;
    for (size_t j = 0; j < candidates[arrival].count; j++)
      if (of_arrival[j] != Assignment::kNone &&
          candidates[arrival].at[i].print == candidates[arrival].at[j].print)
        at(indexes[arrival][i]).copy = true;
  }
  if (partner == Assignment::kNone)
    leave(oldest);
  else
    join(oldest, at(indexes[!oldest.place][partner]));
}

void Window::join(Slot &oldest, Slot &other) {
  if (is_arrival(oldest)) {
    judge_.matched(oldest.sight, other.sight.mark);
    other.state = State::Done;
  } else {
    other.partner = oldest.sight.mark;
    other.state = State::Met;
  }
}

void Window::leave(Slot &oldest) {
  if (is_arrival(oldest))
    judge_.extra(oldest.sight, oldest.copy);
  else
    judge_.lost(oldest.sight);
}

} // namespace xr::compare
