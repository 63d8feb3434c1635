// SPDX-License-Identifier: Apache-2.0
// The times of frames by their stamps. Every clock that stamps is set to the capture's by its first
// frame, so that times have the capture's date; absolute clocks that agree are set together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "analysis/frame_stamp.h"
#include "model/frame_times.h"

namespace xr {

class StampClock {
public:
  // `user_tick_ns`: the unit that the user configured; 0: not known.
  StampClock(FrameClock clock, uint64_t user_tick_ns) : user_tick_ns_(user_tick_ns) {
    times_.clock = clock;
  }

  // The time of the next frame; with FrameClock::Capture that of the capture. In any case the stamp
  // is compared with it.
  uint64_t time(uint64_t capture_ns, const std::optional<FrameStamp> &stamp);
  FrameTimes result() const;

private:
  static constexpr size_t kSources = 256; // as many as mirror sessions (ROCE_MIRRORS)

  // What stamps with one clock: sessions of one switch with one unit, or one packet broker.
  using ClockKey = std::tuple<Address, StampUnit, bool, uint8_t>;
  using SourceKey = std::tuple<ClockKey, Address, uint32_t, uint8_t>;
  struct Clock {
    uint64_t tick_ns;    // 0: not known
    uint64_t first;      // in ticks
    int64_t ticks = 0;   // the newest, since `first`
    uint64_t capture_ns; // of the newest
    uint64_t set_to;     // the time of `first`
  };
  struct Source {
    StampSource found;
    bool begun = false; // what follows is valid
    uint64_t first_capture = 0, last_capture = 0;
    int64_t first_ticks = 0, last_ticks = 0, newest_ticks = 0;
    uint64_t tick_ns = 0;
    int64_t first_delay = 0;
  };

  static ClockKey key_of(const FrameStamp &stamp);
  Clock &clock_of(const FrameStamp &stamp, uint64_t capture_ns);
  Source *source_of(const FrameStamp &stamp);
  uint64_t by_capture(uint64_t capture_ns);
  static bool advance(Clock &clock, const FrameStamp &stamp, uint64_t capture_ns);
  static void compare(Source &source, const Clock &clock, uint64_t capture_ns, uint64_t stamped);

  FrameTimes times_;
  uint64_t user_tick_ns_;
  std::map<ClockKey, Clock> clocks_;
  std::map<SourceKey, Source> sources_;
  std::optional<int64_t> absolute_shift_; // of absolute clocks
  int64_t newest_delay_ = 0;
};

} // namespace xr
