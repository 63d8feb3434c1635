// SPDX-License-Identifier: Apache-2.0
#include "native/timed_pairs.h"

#include <algorithm>
#include <cstddef>

#include "native/pair_links.h"

namespace xr {

namespace {

template <typename Values> PassiveTimes times_of(size_t series, const Values &values) {
  PassiveTimes times;
  times.kind = static_cast<uint8_t>(series / 2);
  times.bound = series % 2;
  times.count = values.count();
  times.min = values.min();
  times.p50 = values.quantile(0.5);
  times.p99 = values.quantile(0.99);
  times.max = values.max();
  times.mean = values.mean();
  return times;
}

} // namespace

roce_timing *TimedPairs::record(uint32_t stream) {
  if (stream >= places_.size())
    return nullptr;
  if (places_[stream])
    return &pairs_[places_[stream] - 1].timing;
  if (pairs_.size() == kPairs) {
    pairs_full_++;
    return nullptr;
  }
  places_[stream] = static_cast<uint32_t>(pairs_.size()) + 1;
  return &pairs_.emplace_back().timing;
}

void TimedPairs::add(const roce_timing *record, unsigned kind, bool bound, uint64_t ns) {
  const size_t which = series(kind, bound);
  auto &times = pairs_[places_[record->request] - 1].times;
  auto found = std::ranges::find(times, which, &std::pair<size_t, NarrowHistogram>::first);
  if (found == times.end())
    found = times.insert(times.end(), {which, {}});
  found->second.add(ns);
  if (!port_[which])
    port_[which] = std::make_unique<PortTimes>();
  port_[which]->exact_buckets.add(ns);
  port_[which]->shown.add(ns);
}

void TimedPairs::fill_rows(std::vector<PassiveRow> &rows,
                           const std::vector<roce_stream> &streams) const {
  for (const Pair &pair : pairs_) {
    const PairName name = pair_name(streams, pair.timing.request, pair.timing.response);
    const size_t first = rows.size();
    for (const auto &[which, values] : pair.times)
      rows.push_back({name, times_of(which, values)});
    std::sort(rows.begin() + static_cast<ptrdiff_t>(first), rows.end(),
              [](const PassiveRow &a, const PassiveRow &b) {
                return series(a.times.kind, a.times.bound) < series(b.times.kind, b.times.bound);
              });
  }
}

void TimedPairs::fill_counts(PassiveLatency &into) const {
  into.pairs_full += pairs_full_;
  into.unpaired += unpaired_;
  for (const Pair &pair : pairs_) {
    into.full += pair.timing.full;
    into.ambiguous += pair.timing.ambiguous;
    into.unanswered += pair.timing.unanswered;
    into.broken += pair.timing.broken;
    into.cnps_steady += pair.timing.fall.steady;
    // the last CNP may still wait for packets
    into.cnps_unmeasured += pair.timing.fall.unmeasured + (pair.timing.fall.cnp_ns != 0);
    into.cnps_close += pair.timing.fall.close;
  }
}

void TimedPairs::fill(PassiveLatency &into, const std::vector<Part> &parts) {
  into = {};
  for (const Part &part : parts) {
    part.timed->fill_rows(into.streams, *part.streams);
    part.timed->fill_counts(into);
  }
  for (size_t i = 0; i < kSeries; i++) {
    PortTimes port;
    for (const Part &part : parts)
      if (part.timed->port_[i])
        port.merge(*part.timed->port_[i]);
    if (!port.shown.count())
      continue;
    into.port.push_back(times_of(i, port.exact_buckets));
    const PassiveTimes &times = into.port.back();
    port.shown.each([&](uint64_t from, uint64_t to, uint64_t count) {
      into.histogram.push_back({times.kind, times.bound, from, to, count});
    });
  }
}

} // namespace xr
