// SPDX-License-Identifier: Apache-2.0
#include "metrics/latency_metrics.h"

#include <algorithm>
#include <bit>

#include "report/passive_latency.h"

namespace xr::metrics {

namespace {

// Upper bounds are 2^kFirst to 2^kLast - 1 ns: 1 us to 68 s.
constexpr unsigned kFirst = 10, kLast = 36;

std::vector<Families::Bucket> octaves_of(const PassiveLatency &latency, const PassiveTimes &times) {
  std::vector<Families::Bucket> octaves;
  for (unsigned bits = kFirst; bits <= kLast; bits++)
    octaves.push_back({static_cast<double>((uint64_t{1} << bits) - 1) / 1e9, 0});
  for (const PassiveBucket &bucket : latency.histogram) {
    if (bucket.kind != times.kind || bucket.bound != times.bound)
      continue;
    const unsigned bits =
        std::clamp(static_cast<unsigned>(std::bit_width(bucket.from)), kFirst, kLast);
    octaves[bits - kFirst].count += bucket.count;
  }
  for (size_t i = 1; i < octaves.size(); i++)
    octaves[i].count += octaves[i - 1].count;
  return octaves;
}

} // namespace

void add_latency(Families &to, const std::string &port, const PassiveLatency &latency) {
  for (const PassiveTimes &times : latency.port)
    to.histogram("xdp_roce_latency_seconds",
                 "Times between the requests and answers of QP pairs (--latency); bound upper: no "
                 "longer than this.",
                 {{"port", port},
                  {"kind", report::latency_kind(times.kind)},
                  {"bound", times.bound ? "upper" : "exact"}},
                 octaves_of(latency, times), times.mean * static_cast<double>(times.count) / 1e9);
}

} // namespace xr::metrics
