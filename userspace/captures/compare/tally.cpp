// SPDX-License-Identifier: Apache-2.0
#include "compare/tally.h"

#include <algorithm>

#include "roce/wire.h"

namespace xr::compare {

namespace {

constexpr uint8_t kEcn = 3;

uint64_t shifted(uint64_t time_ns, int64_t by) { return time_ns + static_cast<uint64_t>(by); }

} // namespace

Tally::Tally(const Alignment &alignment, const StreamNumbers &numbers, const Span &first,
             const Span &second)
    : alignment_(alignment), numbers_(numbers), first_(first), second_(second),
      moment_ns_((first.last_ns - first.first_ns) / kMoments + 1) {
  for (auto &all : all_)
    all = std::make_unique<Times<Histogram>>();
}

Path Tally::begin(uint32_t number) {
  if (number >= streams_.size())
    streams_.resize(number + 1);
  Stream &stream = streams_[number];
  stream.known = true;
  stream.path = alignment_.path(ends_of(numbers_[number].key));
  return stream.path;
}

void Tally::seen(unsigned place, const Sight &sight) {
  Stream &stream = streams_[sight.stream];
  ComparedCounts &counts = stream.counts;
  (place == (stream.path.backward ? 1U : 0U) ? counts.seen_from : counts.seen_to)++;
}

// Whether the other place captured when the packet must have passed it. The first and the last
// frames of its capture, of any kind, are the evidence: within the usual variation of the latency
// of them, nobody knows.
bool Tally::outside(const Path &path, uint64_t time_ns, bool at_arrival) const {
  const bool at_second = at_arrival != path.backward;
  const uint64_t there = shifted(time_ns, at_second ? -path.usual_ns : path.usual_ns);
  const Span &span = at_second ? first_ : second_;
  const auto after_begin = static_cast<int64_t>(there - span.first_ns),
             before_end = static_cast<int64_t>(span.last_ns - there);
  return after_begin < path.margin_ns || before_end < path.margin_ns;
}

Tally::Moment &Tally::moment(const Path &path, uint64_t time_ns, bool at_arrival) {
  const bool at_second = at_arrival != path.backward;
  const uint64_t there = at_second ? shifted(time_ns, -path.usual_ns) : time_ns;
  const auto since = std::max<int64_t>(static_cast<int64_t>(there - first_.first_ns), 0);
  const uint64_t index = static_cast<uint64_t>(since) / moment_ns_;
  return moments_[path.backward][std::min<uint64_t>(index, kMoments - 1)];
}

void Tally::compare_marks(const Mark &from, const Mark &to, ComparedCounts &counts) {
  const uint8_t ecn_from = from.tos & kEcn, ecn_to = to.tos & kEcn;
  if (ecn_from != ecn_to)
    (ecn_to == ROCE_ECN_CE ? counts.ce : counts.ecn)++;
  counts.dscp += from.tos >> 2 != to.tos >> 2;
  counts.vlan += from.flags & to.flags & Mark::kTagged && from.vlan != to.vlan;
  counts.corrupted += to.flags & Mark::kBadIcrc && !(from.flags & Mark::kBadIcrc);
}

void Tally::matched(const Sight &to, const Mark &from) {
  Stream &stream = streams_[to.stream];
  const bool backward = stream.path.backward;
  const uint64_t ce_before = stream.counts.ce;
  stream.counts.matched++;
  compare_marks(from, to.mark, stream.counts);
  if (stream.any_arrived && static_cast<int32_t>(from.order - stream.highest) < 0)
    stream.counts.reordered++;
  else
    stream.highest = from.order;
  stream.any_arrived = true;
  if (from.flags & Mark::kBegins && to.mark.flags & Mark::kAccepted)
    stream.resent_seen++;

  const auto difference = backward ? static_cast<int64_t>(from.time_ns - to.mark.time_ns)
                                   : static_cast<int64_t>(to.mark.time_ns - from.time_ns);
  const int64_t relative =
      backward ? alignment_.base_ns(true) - difference : difference - alignment_.base_ns(false);
  all_[backward]->add(relative);
  if (!stream.times && histograms_ < kStreamHistograms) {
    stream.times = std::make_unique<StreamTimes>();
    histograms_++;
  } else if (!stream.times && stream.counts.matched == 1) {
    histograms_full_++;
  }
  if (stream.times)
    stream.times->add(relative);
  Moment &now = moment(stream.path, to.mark.time_ns, true);
  now.matched++;
  now.ce += stream.counts.ce - ce_before;
  if (!now.times)
    now.times = std::make_unique<StreamTimes>();
  now.times->add(relative);
}

void Tally::lost(const Sight &from) {
  Stream &stream = streams_[from.stream];
  if (outside(stream.path, from.mark.time_ns, false)) {
    stream.counts.outside_from++;
    return;
  }
  stream.counts.lost++;
  moment(stream.path, from.mark.time_ns, false).lost++;
}

void Tally::extra(const Sight &to, bool copy) {
  Stream &stream = streams_[to.stream];
  if (copy) {
    stream.counts.duplicated++;
  } else if (outside(stream.path, to.mark.time_ns, true)) {
    stream.counts.outside_to++;
  } else {
    stream.counts.only_to++;
    stream.counts.only_to_bad += to.mark.flags & Mark::kBadIcrc;
  }
}

template <typename T> LatencySummary Tally::summary(const T &times, bool backward) const {
  LatencySummary latency;
  latency.count = times.values.count();
  if (!latency.count)
    return latency;
  // The latency of a packet at the base.
  const int64_t base = backward ? alignment_.offset_ns() - alignment_.base_ns(true)
                                : alignment_.base_ns(false) - alignment_.offset_ns();
  const auto quantile = [&](double fraction) {
    return base +
           std::clamp(static_cast<int64_t>(times.values.quantile(fraction)), times.min, times.max);
  };
  latency.min = base + times.min;
  latency.max = base + times.max;
  latency.mean = static_cast<double>(base) + times.values.mean();
  latency.quantiles = true;
  latency.p50 = quantile(0.5);
  latency.p99 = quantile(0.99);
  return latency;
}

std::optional<ComparedStream> Tally::stream(uint32_t number) const {
  if (number >= streams_.size() || !streams_[number].known)
    return std::nullopt;
  const Stream &of = streams_[number];
  ComparedStream row;
  row.key = numbers_[number].key;
  row.opcode = numbers_[number].opcode;
  row.assumed = of.path.assumed;
  row.from = of.path.backward;
  row.to = !of.path.backward;
  row.counts = of.counts;
  if (of.times)
    row.latency = summary(*of.times, of.path.backward);
  return row;
}

uint64_t Tally::resent_seen(uint32_t number) const {
  return number < streams_.size() ? streams_[number].resent_seen : 0;
}

void Tally::report(ComparedLeg &leg) const {
  leg.clock = alignment_.clock();
  leg.offset_ns = alignment_.offset_ns();
  leg.anchors = alignment_.anchors();
  for (const Stream &stream : streams_)
    leg.ways[stream.path.backward].counts.add(stream.counts);
  const uint64_t begin =
                     std::max(first_.first_ns, shifted(second_.first_ns, -alignment_.shift_ns())),
                 end = std::min(first_.last_ns, shifted(second_.last_ns, -alignment_.shift_ns()));
  leg.span_ns = end > begin ? end - begin : 0;
  leg.moment_ns = moment_ns_;
  for (const bool backward : {false, true}) {
    leg.ways[backward].latency = summary(*all_[backward], backward);
    for (size_t i = 0; i < kMoments; i++) {
      const Moment &moment = moments_[backward][i];
      if (!moment.matched && !moment.lost)
        continue;
      ComparedLeg::Moment row{.start_ns = i * moment_ns_,
                              .backward = backward,
                              .matched = moment.matched,
                              .lost = moment.lost,
                              .ce = moment.ce,
                              .latency = {}};
      if (moment.times)
        row.latency = summary(*moment.times, backward);
      leg.over_time.push_back(row);
    }
  }
}

} // namespace xr::compare
