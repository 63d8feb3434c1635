// SPDX-License-Identifier: Apache-2.0
// The times of QP pairs on a port that was attached with --latency (include/roce/times.h).
#include <algorithm>
#include <array>
#include <numeric>

#include <bpf/bpf.h>

#include "base/histogram.h"
#include "datapath/attached_port.h"
#include "datapath/counts.h"
#include "datapath/map_names.h"
#include "datapath/pair_names.h"
#include "datapath/remedy.h"
#include "roce/times.h"

namespace xr::datapath {

namespace {

constexpr uint32_t kPairsAtOnce = 1024, kSeries = ROCE_TIME_SERIES;

using PortBuckets = LogBuckets<ROCE_PORT_TIME_BITS, ROCE_TIME_WIDTH>;
using PairBuckets = LogBuckets<ROCE_PAIR_TIME_BITS, ROCE_TIME_WIDTH>;
static_assert(PortBuckets::kBuckets == ROCE_TIME_BUCKETS(ROCE_PORT_TIME_BITS));
static_assert(PairBuckets::kBuckets == ROCE_TIME_BUCKETS(ROCE_PAIR_TIME_BITS));

constexpr uint64_t kFewest = 100; // of which one is beyond the 99th percentile

template <typename Buckets, typename Times>
PassiveTimes times_of(uint32_t series, const Times &times) {
  std::array<uint64_t, Buckets::kBuckets> counts{};
  std::copy(std::begin(times.bucket), std::end(times.bucket), counts.begin());
  const roce_time_sums &sum = times.sum;
  const uint64_t total = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  PassiveTimes to;
  to.kind = static_cast<uint8_t>(series / 2);
  to.bound = series % 2;
  to.count = sum.count;
  to.min = sum.min_ns;
  to.max = sum.max_ns;
  to.p50 = Buckets::quantile_between(counts, total, sum.min_ns, sum.max_ns, 0.5);
  to.p99 = Buckets::quantile_between(counts, total, sum.min_ns, sum.max_ns, 0.99);
  to.p99_known = total >= kFewest;
  to.mean = sum.count ? static_cast<double>(sum.sum_ns) / static_cast<double>(sum.count) : 0;
  return to;
}

// Adds what one CPU counted.
void add(roce_port_times &to, const roce_port_times &port_times) {
  if (!port_times.sum.count)
    return;
  to.sum.min_ns =
      to.sum.count ? std::min(to.sum.min_ns, port_times.sum.min_ns) : port_times.sum.min_ns;
  to.sum.max_ns = std::max(to.sum.max_ns, port_times.sum.max_ns);
  to.sum.count += port_times.sum.count;
  to.sum.sum_ns += port_times.sum.sum_ns;
  for (size_t i = 0; i < std::size(to.bucket); i++)
    to.bucket[i] += port_times.bucket[i];
}

// Reads the times of all streams and their histogram.
Status read_port(int fd, PassiveLatency &to) {
  const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
  std::vector<roce_port_times> each(cpus * size_t{kSeries});
  if (const int error = read_batch(fd, 0, kSeries, each.data(), 0))
    return errno_error(error, "cannot read the times");
  for (uint32_t series = 0; series < kSeries; series++) {
    roce_port_times all{};
    for (size_t cpu = 0; cpu < cpus; cpu++)
      add(all, each[series * cpus + cpu]);
    if (!all.sum.count)
      continue;
    to.port.push_back(times_of<PortBuckets>(series, all));
    const PassiveTimes &times = to.port.back();
    for (unsigned i = 0; i < PortBuckets::kBuckets; i++)
      if (all.bucket[i])
        to.histogram.push_back({times.kind, times.bound, PortBuckets::lowest(i),
                                PortBuckets::highest(i), all.bucket[i]});
  }
  return {};
}

void add_counts(PassiveLatency &to, const roce_timing &pair) {
  to.full += pair.full;
  to.ambiguous += pair.ambiguous;
  to.unanswered += pair.unanswered;
  to.broken += pair.broken;
}

} // namespace

Result<PassiveLatency> AttachedPort::latency() const {
  if (!(status_.features & ROCE_FEATURE_TIME))
    return Error{"it does not time QP pairs", attach_again(status_, "--latency")};
  Snapshot counts;
  XR_TRY(read_counters(counts));
  PassiveLatency to;
  to.pairs_full = counts.totals.pairs_full;
  to.pairs_contended = counts.totals.pairs_contended;
  to.unpaired = counts.totals.pairs_unknown;
  XR_TRY(read_port(maps_.fd(map_names::port_times), to));
  const uint32_t used = std::min(maps_.shared().timings_used, status_.pairs_capacity);
  PairNames names(maps_.fd(map_names::streams));
  std::vector<roce_timing> pairs;
  std::vector<roce_pair_times> times;
  for (uint32_t first = 0; first < used; first += kPairsAtOnce) {
    const uint32_t count = std::min(kPairsAtOnce, used - first);
    pairs.resize(count);
    times.resize(size_t{count} * kSeries);
    int error = read_batch(maps_.fd(map_names::timings), first, count, pairs.data(), 0);
    if (!error)
      error = read_batch(maps_.fd(map_names::pair_times), first * kSeries, count * kSeries,
                         times.data(), 0);
    if (error)
      return errno_error(error, "cannot read the times of QP pairs");
    for (uint32_t i = 0; i < count; i++) {
      if ((pairs[i].key.qp_kind & ROCE_KEY_SIDE) != status_.side)
        continue;
      names.add(pairs[i].key, pairs[i].response);
      add_counts(to, pairs[i]);
      for (uint32_t series = 0; series < kSeries; series++)
        if (const auto &item = times[size_t{i} * kSeries + series]; item.sum.count)
          to.streams.push_back({names.of(pairs[i].key), times_of<PairBuckets>(series, item)});
    }
  }
  return to;
}

} // namespace xr::datapath
