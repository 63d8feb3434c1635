// SPDX-License-Identifier: Apache-2.0
#include "analysis/stamp_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace xr {

namespace {

constexpr uint64_t kClockSecond = 1'000'000'000;
// Absolute clocks that differ by more are not synchronised.
constexpr int64_t kAgree = kClockSecond;
constexpr int64_t kFarthest = int64_t{1} << 61; // ns: 73 years
constexpr auto kFarthestDouble = static_cast<double>(kFarthest);

uint64_t tick_of(StampUnit unit, uint64_t user_tick_ns) {
  switch (unit) {
  case StampUnit::Us100:
    return 100'000;
  case StampUnit::Ns100:
    return 100;
  case StampUnit::User:
    return user_tick_ns;
  default:
    return 1;
  }
}

bool is_absolute(const FrameStamp &stamp) {
  return stamp.whole && (stamp.unit == StampUnit::Ieee1588 || stamp.unit == StampUnit::Trailer);
}

int64_t difference(uint64_t a, uint64_t b) { return static_cast<int64_t>(a - b); }

// The value that is congruent to `value` modulo `modulus`, next to `expected`.
int64_t nearest(uint64_t value, uint64_t modulus, int64_t expected) {
  const auto m = static_cast<int64_t>(modulus);
  int64_t ahead = (static_cast<int64_t>(value) - expected % m) % m;
  if (ahead < 0)
    ahead += m;
  if (ahead > m / 2)
    ahead -= m;
  return expected + ahead;
}

} // namespace

StampClock::ClockKey StampClock::key_of(const FrameStamp &stamp) {
  return {stamp.src, stamp.unit, stamp.whole, stamp.device};
}

StampClock::Clock &StampClock::clock_of(const FrameStamp &stamp, uint64_t capture_ns) {
  const auto [place, added] =
      clocks_.try_emplace(key_of(stamp), Clock{.tick_ns = tick_of(stamp.unit, user_tick_ns_),
                                               .first = stamp.value,
                                               .capture_ns = capture_ns,
                                               .set_to = capture_ns ? capture_ns : kClockSecond});
  Clock &clock = place->second;
  if (!added || !is_absolute(stamp))
    return clock;
  if (!capture_ns) // the capture has no times
    clock.set_to = stamp.value;
  if (!absolute_shift_)
    absolute_shift_ = difference(clock.set_to, stamp.value);
  const uint64_t together = stamp.value + static_cast<uint64_t>(*absolute_shift_);
  if (!capture_ns || std::abs(difference(together, capture_ns)) <= kAgree)
    clock.set_to = together;
  return clock;
}

// The clock's new ticks. False: so far from the first that it cannot be a time.
bool StampClock::advance(Clock &clock, const FrameStamp &stamp, uint64_t capture_ns) {
  int64_t ticks = difference(stamp.value, clock.first);
  if (stamp.modulus) {
    // Without a unit, time goes forward by less than one round.
    int64_t expected = clock.ticks;
    const int64_t passed = difference(capture_ns, clock.capture_ns);
    if (clock.tick_ns && capture_ns && clock.capture_ns && std::abs(passed / 2) < kFarthest / 2)
      expected += passed / static_cast<int64_t>(clock.tick_ns);
    else if (!clock.tick_ns)
      expected += static_cast<int64_t>(stamp.modulus / 2) - 1;
    const uint64_t since = (stamp.value + stamp.modulus - clock.first) % stamp.modulus;
    ticks = nearest(since, stamp.modulus, expected);
  }
  const uint64_t tick_ns = std::max<uint64_t>(clock.tick_ns, 1);
  if (std::abs(static_cast<double>(ticks)) * static_cast<double>(tick_ns) > kFarthestDouble)
    return false;
  clock.ticks = ticks;
  clock.capture_ns = capture_ns;
  return true;
}

StampClock::Source *StampClock::source_of(const FrameStamp &stamp) {
  const SourceKey key{key_of(stamp), stamp.dst, stamp.session, stamp.port};
  const auto place = sources_.find(key);
  if (place != sources_.end())
    return &place->second;
  if (sources_.size() == kSources) {
    times_.sources_full++;
    return nullptr;
  }
  Source &added = sources_[key];
  added.found.unit = stamp.unit;
  added.found.whole = stamp.whole;
  added.found.src = stamp.src;
  added.found.dst = stamp.dst;
  added.found.session = stamp.session;
  added.found.device = stamp.device;
  added.found.port = stamp.port;
  return &added;
}

void StampClock::compare(Source &source, const Clock &clock, uint64_t capture_ns,
                         uint64_t stamped) {
  StampSource &found = source.found;
  const int64_t delay = difference(capture_ns, stamped);
  if (!source.begun) {
    source.begun = true;
    source.tick_ns = clock.tick_ns;
    source.first_capture = capture_ns;
    source.first_ticks = source.newest_ticks = clock.ticks;
    source.first_delay = delay;
  }
  if (clock.ticks < source.newest_ticks) {
    found.backward++;
    found.backward_max_ns =
        std::max(found.backward_max_ns,
                 static_cast<uint64_t>(source.newest_ticks - clock.ticks) * clock.tick_ns);
  }
  source.newest_ticks = std::max(source.newest_ticks, clock.ticks);
  source.last_ticks = clock.ticks;
  source.last_capture = capture_ns;
  if (!clock.tick_ns)
    return;
  const int64_t more =
      difference(static_cast<uint64_t>(delay), static_cast<uint64_t>(source.first_delay));
  found.delay_min_ns = std::min(found.delay_min_ns, more);
  found.delay_max_ns = std::max(found.delay_max_ns, more);
}

uint64_t StampClock::by_capture(uint64_t capture_ns) {
  if (times_.clock == FrameClock::Capture)
    return capture_ns;
  times_.unstamped++;
  return capture_ns ? capture_ns - static_cast<uint64_t>(newest_delay_) : 0;
}

uint64_t StampClock::time(uint64_t capture_ns, const std::optional<FrameStamp> &stamp) {
  Source *source = stamp ? source_of(*stamp) : nullptr;
  if (!source)
    return by_capture(capture_ns);
  source->found.frames++;
  if (!stamp->valid) {
    source->found.unusable++;
    return by_capture(capture_ns);
  }
  Clock &clock = clock_of(*stamp, capture_ns);
  const bool usable = advance(clock, *stamp, capture_ns);
  if (!usable || !clock.tick_ns)
    source->found.unusable++;
  if (!usable)
    return by_capture(capture_ns);
  const uint64_t stamped = clock.set_to + static_cast<uint64_t>(clock.ticks) * clock.tick_ns;
  if (is_absolute(*stamp) && !source->found.offset_ns && capture_ns)
    source->found.offset_ns = difference(capture_ns, stamp->value);
  compare(*source, clock, capture_ns, stamped);
  if (!clock.tick_ns || times_.clock == FrameClock::Capture)
    return by_capture(capture_ns);
  times_.stamped++;
  newest_delay_ = capture_ns ? difference(capture_ns, stamped) : 0;
  return stamped;
}

FrameTimes StampClock::result() const {
  FrameTimes times = times_;
  for (const auto &[key, source] : sources_) {
    StampSource &row = times.sources.emplace_back(source.found);
    const auto captured =
        static_cast<double>(difference(source.last_capture, source.first_capture));
    const auto ticks = static_cast<double>(source.last_ticks - source.first_ticks);
    if (captured <= 0 || ticks <= 0)
      continue;
    if (source.tick_ns)
      row.drift_ppm = (ticks * static_cast<double>(source.tick_ns) / captured - 1) * 1e6;
    else
      row.tick_ns = captured / ticks;
  }
  return times;
}

} // namespace xr
