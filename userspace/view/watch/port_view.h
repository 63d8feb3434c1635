// SPDX-License-Identifier: Apache-2.0
// The state of one watched port: counters, rates, rules, recent events.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/live_job.h"
#include "model/rules.h"
#include "model/run_reports.h"
#include "model/snapshot.h"
#include "model/wire_counts.h"
#include "report/stream_columns.h"
#include "roce/event.h"
#include "watch/history.h"
#include "watch/meters.h"

namespace xr::watch {

// What was read from a port at one time.
struct Reading {
  Snapshot snapshot;
  uint64_t realtime_ns = 0; // time of the snapshot, since 1970
  std::vector<RuleRow> rules;
  std::shared_ptr<const WirePortCounts> wire; // null: no wire process ever took its frames
  bool wire_running = false;
  std::shared_ptr<const EndpointRates> rates; // null: no process controls rates there
  std::shared_ptr<const LiveJob> job;         // null: the port keeps no bursts
  std::vector<roce_event> events;             // since the previous reading
  uint64_t events_forgotten = 0;              // older events since then, which are only counted
};

class PortView {
public:
  static constexpr size_t kEvents = 4096; // number of events kept; older ones are only counted

  struct Gauge {
    uint64_t total = 0;
    double rate = 0; // per second
    double bits = 0; // per second
    History history; // of `rate`
  };

  explicit PortView(std::string name, std::string about = "", std::string no_events = "");
  PortView(const PortView &) = delete; // earlier_ refers to before_
  PortView &operator=(const PortView &) = delete;

  void update(Reading reading);
  // The port cannot be read any more: the last counters stay, rates become 0.
  void mark_gone(std::string why);
  // Counts from now on; unzero() shows all again.
  void zero();
  void unzero();

  const std::string &name() const { return name_; }
  const std::string &about() const { return about_; }
  const std::string &no_events() const { return no_events_; } // why there are none, or ""
  const std::string &lost() const { return lost_; }           // why the port is gone, or ""
  bool ready() const { return now_.has_value(); }
  std::optional<uint64_t> zeroed_at() const { return zeroed_at_; }
  uint64_t realtime_ns() const { return realtime_ns_; }
  // Time of an event, since 1970.
  uint64_t realtime_of(const roce_event &event) const;

  // Only if ready().
  const Snapshot &counted() const { return shown_ ? *shown_ : *now_; }
  const std::vector<RuleRow> &rules() const { return rules_; }
  // The wire process's counts, since it began; null: there was none.
  const std::shared_ptr<const WirePortCounts> &wire() const { return wire_; }
  bool wire_running() const { return wire_running_; }
  // The rates of the port's `send` or `respond`; null: it controls none.
  const std::shared_ptr<const EndpointRates> &rates() const { return endpoint_rates_; }
  // The training job; null: the port keeps no bursts.
  const std::shared_ptr<const LiveJob> &job() const { return job_; }
  const History &rate_history() const { return rate_history_; } // sum, bit/s
  struct LinkRates {
    double frames = 0, bits = 0; // that left the link, per second
    double busy = 0;             // part of the time
  };
  const LinkRates &link_rates() const { return link_rates_; }
  const History &backlog() const { return backlog_; } // bytes
  const Meters<Gauge> &gauges() const { return gauges_; }
  double seconds() const { return seconds_; } // interval of the rates; 0: no rates yet
  struct StreamRates {
    double packets = 0, bits = 0; // per second
  };
  StreamRates rates(uint32_t place) const; // `place`: index in counted().streams
  // Of a rule, by its id; nothing if there are no rates yet.
  struct RuleRates {
    double matched = 0, acted = 0; // packets per second
    double bits = 0;               // matched, per second
  };
  std::optional<RuleRates> rule_rates(uint32_t id) const;
  // The index of the stream with this key. `place`: where to look first.
  std::optional<uint32_t> find(const roce_key &key, uint32_t place = 0) const;

  const std::deque<roce_event> &events() const { return events_; } // oldest first
  uint64_t events_forgotten() const { return events_forgotten_; }

private:
  void stop();
  void measure();
  void measure_link(const WirePortCounts *before);
  void count_from_baseline();

  std::string name_, about_, no_events_, lost_;
  std::optional<Snapshot> now_, before_, base_, shown_;
  std::vector<RuleRow> all_rules_, earlier_rules_, base_rules_, rules_;
  std::optional<report::StreamIndex> earlier_; // of before_
  std::optional<uint64_t> zeroed_at_;
  uint64_t realtime_ns_ = 0;
  double seconds_ = 0;
  Meters<Gauge> gauges_{};
  std::shared_ptr<const WirePortCounts> wire_;
  bool wire_running_ = false;
  LinkRates link_rates_;
  std::shared_ptr<const EndpointRates> endpoint_rates_;
  std::shared_ptr<const LiveJob> job_;
  History rate_history_;
  History backlog_;
  std::deque<roce_event> events_;
  uint64_t events_forgotten_ = 0;
};

// Replaces the kept reading by a newer one, and appends its events, up to the number that a port
// keeps.
void merge_readings(std::optional<Reading> &held, Reading reading);

} // namespace xr::watch
