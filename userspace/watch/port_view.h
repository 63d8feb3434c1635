// SPDX-License-Identifier: Apache-2.0
// One port as it is watched: what it counts, how fast, since when, and what happened lately.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "model/rules.h"
#include "model/snapshot.h"
#include "report/stream_columns.h"
#include "roce/event.h"
#include "watch/history.h"
#include "watch/meters.h"

namespace xr::watch {

// What was read of a port at one moment.
struct Reading {
  Snapshot snapshot;
  uint64_t realtime_ns = 0; // since 1970, when the snapshot was
  std::vector<RuleRow> rules;
  std::vector<roce_event> events; // since the reading before
  uint64_t events_forgotten = 0;  // older ones of that time: only counted
};

class PortView {
public:
  static constexpr size_t kEvents = 4096; // kept; older ones are counted

  struct Gauge {
    uint64_t total = 0;
    double rate = 0; // a second
    double bits = 0; // likewise
    History history; // of the rate
  };

  explicit PortView(std::string name, std::string about = "", std::string no_events = "");
  PortView(const PortView &) = delete; // it refers to itself
  PortView &operator=(const PortView &) = delete;

  void update(Reading reading);
  // It cannot be read any more: what was last read stays, and nothing moves.
  void lose(std::string why);
  // Counts from now on; or again all.
  void zero();
  void unzero();

  const std::string &name() const { return name_; }
  const std::string &about() const { return about_; }
  const std::string &no_events() const { return no_events_; } // why there are none, ""
  const std::string &lost() const { return lost_; }           // why, ""
  bool ready() const { return now_.has_value(); }
  std::optional<uint64_t> zeroed_at() const { return zeroed_at_; }
  uint64_t realtime_ns() const { return realtime_ns_; }
  // Of an event, as time of day.
  uint64_t realtime_of(const roce_event &event) const;

  // Of a port that is ready.
  const Snapshot &counted() const { return shown_ ? *shown_ : *now_; }
  const std::vector<RuleRow> &rules() const { return rules_; }
  const Meters<Gauge> &gauges() const { return gauges_; }
  double seconds() const { return seconds_; } // that rates are of; 0: none yet
  struct StreamRates {
    double packets = 0, bits = 0; // a second
  };
  StreamRates rates(uint32_t place) const; // of a stream of counted()
  // Its place among them, most likely `place`.
  std::optional<uint32_t> find(const roce_key &key, uint32_t place = 0) const;

  const std::deque<roce_event> &events() const { return events_; } // oldest first
  uint64_t events_forgotten() const { return events_forgotten_; }

private:
  void stop();
  void measure();
  void count_from_baseline();

  std::string name_, about_, no_events_, lost_;
  std::optional<Snapshot> now_, before_, base_, shown_;
  std::vector<RuleRow> all_rules_, base_rules_, rules_;
  std::optional<report::Earlier> earlier_; // of before_
  std::optional<uint64_t> zeroed_at_;
  uint64_t realtime_ns_ = 0;
  double seconds_ = 0;
  Meters<Gauge> gauges_{};
  std::deque<roce_event> events_;
  uint64_t events_forgotten_ = 0;
};

// The last reading, with the events of those before it: as many as a port keeps.
void hold(std::optional<Reading> &held, Reading reading);

} // namespace xr::watch
