// SPDX-License-Identifier: Apache-2.0
#include "stamps/one_way.h"

#include <algorithm>
#include <cmath>

#include "base/draw.h"
#include "packet/peer_map.h"

namespace xr::stamps {

size_t OneWay::KeyHash::operator()(const Key &key) const {
  uint64_t hash = draw(key.run, key.qp);
  for (const Address *address : {&key.src, &key.dst})
    for (size_t i = 0; i < 4; i += 2)
      hash = draw(hash, uint64_t{(*address)[i]} << 32 | (*address)[i + 1]);
  return hash;
}

struct OneWay::Stream {
  Key key;
  SequenceWindow window;
  std::unique_ptr<SignedHistogram> latency; // unset: there were too many streams
  uint64_t frames = 0, in_order = 0, reordered = 0, duplicates = 0, too_old = 0;
  uint64_t first = UINT64_MAX, last = 0;
  uint64_t timed = 0;
  int64_t min = INT64_MAX, max = INT64_MIN;
  double sum = 0;
  int64_t before = 0; // latency of the frame before
  double difference_sum = 0, rfc3550 = 0;

  SequenceWindow::Verdict count(uint64_t sequence);
  void time(int64_t ns);
  void merge(const Stream &other);
  uint64_t lost() const;
  uint64_t differences() const { return timed ? timed - pieces : 0; }
  uint64_t pieces = 1; // queues that it came over
};

SequenceWindow::Verdict OneWay::Stream::count(uint64_t sequence) {
  const auto verdict = window.add(sequence);
  frames++;
  in_order += verdict == SequenceWindow::Verdict::InOrder;
  reordered += verdict == SequenceWindow::Verdict::Reordered;
  duplicates += verdict == SequenceWindow::Verdict::Duplicate;
  too_old += verdict == SequenceWindow::Verdict::TooOld;
  first = window.lowest();
  last = window.highest();
  return verdict;
}

void OneWay::Stream::time(int64_t ns) {
  if (timed++) {
    const double difference = std::fabs(static_cast<double>(ns) - static_cast<double>(before));
    difference_sum += difference;
    rfc3550 += (difference - rfc3550) / 16;
  }
  before = ns;
  min = std::min(min, ns);
  max = std::max(max, ns);
  sum += static_cast<double>(ns);
  if (latency)
    latency->add(ns);
}

void OneWay::Stream::merge(const Stream &other) {
  frames += other.frames;
  in_order += other.in_order;
  reordered += other.reordered;
  duplicates += other.duplicates;
  too_old += other.too_old;
  first = std::min(first, other.first);
  last = std::max(last, other.last);
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  sum += other.sum;
  difference_sum += other.difference_sum;
  if (timed && other.timed)
    pieces += other.pieces;
  rfc3550 = std::max(rfc3550, other.rfc3550);
  timed += other.timed;
  if (latency && other.latency)
    latency->merge(*other.latency);
  else
    latency.reset();
}

// One that arrived in two queues is not noticed as a duplicate, hence the limit.
uint64_t OneWay::Stream::lost() const {
  const uint64_t span = frames ? last - first + 1 : 0, arrived = in_order + reordered;
  return span > arrived ? span - arrived : 0;
}

OneWay::OneWay(const OneWayOptions &options) : options_(options) {}
OneWay::~OneWay() = default;
OneWay::OneWay(OneWay &&) noexcept = default;
OneWay &OneWay::operator=(OneWay &&) noexcept = default;

// nullptr: there are too many streams.
OneWay::Stream *OneWay::stream_of(const Key &key) {
  if (last_ && last_->key == key)
    return last_;
  const auto known = index_.find(key);
  if (known != index_.end())
    return last_ = known->second.get();
  if (index_.size() >= options_.streams)
    return nullptr;
  auto made = std::make_unique<Stream>();
  made->key = key;
  if (histograms_ < options_.histograms) {
    made->latency = std::make_unique<SignedHistogram>();
    histograms_++;
  }
  last_ = made.get();
  order_.push_back(last_);
  index_.emplace(key, std::move(made));
  return last_;
}

void OneWay::add(const roce_packet &packet, const packet::Stamp &stamp,
                 std::optional<uint64_t> arrived) {
  Stream *stream = stream_of({packet::source_of(packet), packet::destination_of(packet),
                              roce_key_qp(&packet.key), stamp.run});
  if (!stream) {
    full_++;
    return;
  }
  const auto verdict = stream->count(stamp.sequence);
  if (verdict == SequenceWindow::Verdict::Duplicate) // RFC 7679: the first copy to arrive counts
    return;
  if (!arrived) {
    untimed_++;
    return;
  }
  const auto ns = static_cast<int64_t>(*arrived - stamp.time_ns -
                                       static_cast<uint64_t>(options_.clock_offset_ns.value_or(0)));
  stream->time(ns);
  all_.add(ns);
}

void OneWay::merge(const OneWay &other) {
  for (const Stream *theirs : other.order_) {
    const bool known = index_.count(theirs->key) != 0;
    Stream *mine = stream_of(theirs->key);
    if (!mine) {
      full_ += theirs->frames;
      continue;
    }
    if (!known && !theirs->latency) // without its values the histogram would be empty
      mine->latency.reset();
    mine->merge(*theirs);
  }
  untimed_ += other.untimed_;
  full_ += other.full_;
  all_.merge(other.all_);
}

namespace {

void fill_quantiles(LatencyRow &row, const SignedHistogram &from) {
  row.quantiles = from.count() > 0;
  if (!row.quantiles)
    return;
  row.p50 = std::clamp(from.quantile(0.5), row.min, row.max);
  row.p99 = std::clamp(from.quantile(0.99), row.min, row.max);
  row.p999 = std::clamp(from.quantile(0.999), row.min, row.max);
}

} // namespace

LatencyReport OneWay::report() const {
  LatencyReport report;
  LatencyRow &total = report.total;
  double sum = 0, difference_sum = 0;
  uint64_t differences = 0;
  total.min = INT64_MAX;
  total.max = INT64_MIN;
  for (const Stream *stream : order_) {
    LatencyRow row{.src = stream->key.src,
                   .dst = stream->key.dst,
                   .dest_qp = stream->key.qp,
                   .run = stream->key.run,
                   .frames = stream->frames,
                   .first = stream->first,
                   .last = stream->last,
                   .lost = stream->lost(),
                   .duplicates = stream->duplicates,
                   .reordered = stream->reordered,
                   .too_old = stream->too_old,
                   .timed = stream->timed};
    if (stream->timed) {
      row.min = stream->min;
      row.max = stream->max;
      row.mean = stream->sum / static_cast<double>(stream->timed);
      row.jitter_rfc3550 = stream->rfc3550;
      total.min = std::min(total.min, row.min);
      total.max = std::max(total.max, row.max);
    }
    if (stream->differences())
      row.jitter = stream->difference_sum / static_cast<double>(stream->differences());
    if (stream->latency)
      fill_quantiles(row, *stream->latency);
    total.frames += row.frames;
    total.lost += row.lost;
    total.duplicates += row.duplicates;
    total.reordered += row.reordered;
    total.too_old += row.too_old;
    total.timed += row.timed;
    sum += stream->sum;
    difference_sum += stream->difference_sum;
    differences += stream->differences();
    report.streams.push_back(row);
  }
  if (!total.timed)
    total.min = total.max = 0;
  else
    total.mean = sum / static_cast<double>(total.timed);
  if (differences)
    total.jitter = difference_sum / static_cast<double>(differences);
  fill_quantiles(total, all_);
  report.negative = all_.negative();
  report.untimed = untimed_;
  report.streams_full = full_;
  report.clock_offset_ns = options_.clock_offset_ns;
  return report;
}

} // namespace xr::stamps
