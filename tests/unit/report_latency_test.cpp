// SPDX-License-Identifier: Apache-2.0
// The sections of `analyze --latency` and the bursts, as text and JSON.
#include "golden.h"
#include "report/json.h"
#include "report/microbursts.h"
#include "report/passive_latency.h"
#include "report/text.h"
#include "snapshots.h"

namespace xr::test::report_latency_test {
namespace {

using namespace xr::report;

// A time of each kind, exact and upper bound, of two streams; the second one's sender is not known.
PassiveLatency times_of_each_kind() {
  PassiveLatency found;
  const Snapshot streams = busy_capture();
  for (uint8_t kind = 0; kind < ROCE_LATENCIES; kind++)
    for (const bool bound : {false, true}) {
      const uint64_t base = 1000u * (kind + 1u) + bound;
      const PassiveTimes times{.kind = kind,
                               .bound = bound,
                               .count = 10u + kind,
                               .min = base,
                               .p50 = 2 * base,
                               .p99 = 30 * base,
                               .max = 31 * base,
                               .mean = 2.5 * static_cast<double>(base)};
      PassiveRow row{{streams.streams[0].key, 0x5a}, times};
      if (bound)
        row.name.src_qp.reset();
      found.streams.push_back(row);
      found.port.push_back(times);
      found.histogram.push_back({kind, bound, base, base + 63, 10});
      found.histogram.push_back({kind, bound, 16 * base, 17 * base - 1, kind});
    }
  found.pairs_full = 1;
  found.full = 2;
  found.ambiguous = 3;
  found.unanswered = 4;
  found.broken = 5;
  found.unpaired = 6;
  found.cnps_steady = 7;
  found.cnps_unmeasured = 8;
  found.cnps_close = 9;
  return found;
}

TEST(ReportGolden, Latency) {
  Document document;
  add_passive_latency(document, times_of_each_kind());
  expect_golden("latency.txt", to_text(document));
  expect_golden("latency.json", to_json(document));
  Document none;
  add_passive_latency(none, {});
  expect_golden("no_latency.txt", to_text(none));
  expect_golden("no_latency.json", to_json(none));
}

TEST(ReportGolden, Microbursts) {
  Microbursts found;
  found.first_ns = kTime;
  found.windows = {{10'000, 125'000, 84, kTime + 1'234'567},
                   {100'000, 1'000'000, 670, kTime + 1'200'000},
                   {1'000'000, 1'000'000, 670, kTime}};
  found.late = 1;
  found.untimed = 2;
  Document document;
  add_microbursts(document, found);
  expect_golden("microbursts.txt", to_text(document));
  expect_golden("microbursts.json", to_json(document));
  Document none;
  add_microbursts(none, {});
  expect_golden("no_microbursts.txt", to_text(none));
}

} // namespace
} // namespace xr::test::report_latency_test
