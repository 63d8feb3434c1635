// SPDX-License-Identifier: Apache-2.0
#include "watch/port_view.h"

#include <algorithm>
#include <utility>

#include "report/sections.h"
#include "watch/baseline.h"

namespace xr::watch {

void merge_readings(std::optional<Reading> &held, Reading reading) {
  std::vector<roce_event> events;
  if (held) {
    events = std::move(held->events);
    reading.events_forgotten += held->events_forgotten;
  }
  events.insert(events.end(), reading.events.begin(), reading.events.end());
  if (events.size() > PortView::kEvents) {
    const size_t over = events.size() - PortView::kEvents;
    events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(over));
    reading.events_forgotten += over;
  }
  reading.events = std::move(events);
  held = std::move(reading);
}

PortView::PortView(std::string name, std::string about, std::string no_events)
    : name_(std::move(name)), about_(std::move(about)), no_events_(std::move(no_events)) {}

void PortView::update(Reading reading) {
  earlier_.reset();
  before_ = std::move(now_);
  now_ = std::move(reading.snapshot);
  if (before_)
    earlier_.emplace(*before_);
  realtime_ns_ = reading.realtime_ns;
  earlier_rules_ = std::exchange(all_rules_, std::move(reading.rules));
  for (const roce_event &event : reading.events)
    events_.push_back(event);
  events_forgotten_ += reading.events_forgotten;
  for (; events_.size() > kEvents; events_forgotten_++)
    events_.pop_front();
  count_from_baseline();
  measure();
  const auto earlier_wire = std::exchange(wire_, std::move(reading.wire));
  wire_running_ = reading.wire_running;
  measure_link(earlier_wire.get());
  endpoint_rates_ = std::move(reading.rates);
  job_ = std::move(reading.job);
  if (endpoint_rates_)
    rate_history_.add(endpoint_rates_->total().rate);
  else
    rate_history_.clear();
  if (!lost_.empty()) // a reading that was kept while paused: the port is still gone
    stop();
}

void PortView::count_from_baseline() {
  shown_.reset();
  rules_ = all_rules_;
  if (!base_)
    return;
  shown_ = difference_since(*now_, *base_);
  rules_ = difference_since(all_rules_, base_rules_);
}

void PortView::measure() {
  const auto raw = meter_totals(*now_);
  const auto shown = shown_ ? meter_totals(*shown_) : raw;
  for (size_t i = 0; i < kMeters; i++)
    gauges_[i].total = shown[i].packets;
  if (!before_)
    return;
  const auto then = meter_totals(*before_);
  seconds_ = report::seconds_of({*now_, &*before_});
  for (size_t i = 0; i < kMeters; i++) {
    gauges_[i].rate = report::rate_of(raw[i].packets, then[i].packets, seconds_);
    gauges_[i].bits = 8 * report::rate_of(raw[i].bytes, then[i].bytes, seconds_);
    gauges_[i].history.add(gauges_[i].rate);
  }
}

// The process updates its counts a hundred times a second: rates are between two of its own times.
void PortView::measure_link(const WirePortCounts *before) {
  link_rates_ = {};
  if (!wire_)
    return;
  const LinkCounts &link = wire_->link;
  const LinkClassCounts all = link.total();
  backlog_.add(static_cast<double>(all.backlog_bytes));
  if (!before || link.started != before->link.started || link.updated <= before->link.updated)
    return;
  const double seconds = static_cast<double>(link.updated - before->link.updated) / 1e9;
  const LinkClassCounts then = before->link.total();
  link_rates_.frames = static_cast<double>(all.frames_out - then.frames_out) / seconds;
  link_rates_.bits = static_cast<double>(all.bytes_out - then.bytes_out) * 8 / seconds;
  link_rates_.busy = static_cast<double>(link.busy_ns - before->link.busy_ns) / 1e9 / seconds;
}

void PortView::mark_gone(std::string why) {
  lost_ = std::move(why);
  stop();
}

void PortView::stop() {
  earlier_.reset();
  earlier_rules_.clear();
  for (Gauge &gauge : gauges_)
    gauge.rate = gauge.bits = 0;
  link_rates_ = {};
}

std::optional<PortView::RuleRates> PortView::rule_rates(uint32_t id) const {
  const auto in = [id](const std::vector<RuleRow> &rules) {
    return std::find_if(rules.begin(), rules.end(), [id](const RuleRow &r) { return r.id == id; });
  };
  const auto now = in(all_rules_), then = in(earlier_rules_);
  if (now == all_rules_.end() || then == earlier_rules_.end() || then->matched > now->matched ||
      seconds_ <= 0)
    return std::nullopt;
  return RuleRates{report::rate_of(now->matched, then->matched, seconds_),
                   report::rate_of(now->acted, then->acted, seconds_),
                   8 * report::rate_of(now->matched_bytes, then->matched_bytes, seconds_)};
}

void PortView::zero() {
  if (!now_)
    return;
  base_ = now_;
  base_rules_ = all_rules_;
  zeroed_at_ = realtime_ns_;
  count_from_baseline();
  for (Gauge &gauge : gauges_)
    gauge.total = 0;
}

void PortView::unzero() {
  base_.reset();
  zeroed_at_.reset();
  if (!now_)
    return;
  count_from_baseline();
  const auto totals = meter_totals(*now_);
  for (size_t i = 0; i < kMeters; i++)
    gauges_[i].total = totals[i].packets;
}

uint64_t PortView::realtime_of(const roce_event &event) const {
  return realtime_ns_ - now_->time_ns + event.time_ns;
}

PortView::StreamRates PortView::rates(uint32_t place) const {
  if (!earlier_)
    return {};
  const roce_stream &now = now_->streams[place];
  const roce_stream *then = earlier_->find(now, place);
  return {
      report::rate_of(roce_stream_packets(&now), then ? roce_stream_packets(then) : 0, seconds_),
      8 * report::rate_of(roce_stream_bytes(&now), then ? roce_stream_bytes(then) : 0, seconds_)};
}

std::optional<uint32_t> PortView::find(const roce_key &key, uint32_t place) const {
  const auto &streams = counted().streams;
  const auto is_it = [&key](const roce_stream &stream) {
    return report::same_stream(stream.key, key);
  };
  if (place < streams.size() && is_it(streams[place]))
    return place;
  const auto it = std::find_if(streams.begin(), streams.end(), is_it);
  if (it == streams.end())
    return std::nullopt;
  return static_cast<uint32_t>(it - streams.begin());
}

} // namespace xr::watch
