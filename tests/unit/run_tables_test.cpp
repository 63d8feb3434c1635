// SPDX-License-Identifier: Apache-2.0
// Tables for other programs: sweep.csv, samples.csv and their choice, FCT by flow size.
#include <sstream>

#include <gtest/gtest.h>

#include "report/experiment.h"
#include "report/kept_samples.h"
#include "report/rows.h"
#include "report/wide_series.h"
#include "sweep/point.h"

namespace run_tables_test {
namespace {

using namespace xr;
using namespace xr::report;
using namespace xr::sweep;
using Kind = ExperimentSample::Kind;

std::string csv_of(const Table &table) {
  std::string text;
  write_rows(table, RowFormat::Csv, {}, [&text](std::string_view piece) {
    text += piece;
    return true;
  });
  return text;
}

const Table &table_of(const std::optional<Section> &section) {
  return std::get<Table>(section.value().body);
}

// Flows of that many sizes, 1 KB and up; the FCT of each is its size in us, the slowdown 2.
ExperimentMeasurement ended(size_t flows, size_t sizes) {
  ExperimentMeasurement measured;
  for (size_t i = flows; i-- > 0;) {
    ExperimentFlow &flow = measured.flows.emplace_back();
    flow.whole.bytes = 1000 * (i % sizes + 1);
    flow.fct_ns = flow.whole.bytes;
    flow.slowdown = 2;
  }
  return measured;
}

TEST(FctBySize, BinsHaveEqualCounts) {
  ExperimentMeasurement measured = ended(210, 210);
  measured.flows.emplace_back().whole.bytes = 1; // it has not ended
  const auto section = fct_by_size(measured);
  const Table &table = table_of(section);
  ASSERT_EQ(table.rows, 20U);
  uint64_t flows = 0;
  for (size_t row = 0; row < table.rows; row++) {
    const auto count = std::get<uint64_t>(table.cell(row, 1));
    EXPECT_TRUE(count == 10 || count == 11) << row;
    flows += count;
    // The largest of ten is their 99th percentile.
    EXPECT_EQ(std::get<uint64_t>(table.cell(row, 0)), std::get<uint64_t>(table.cell(row, 4)));
  }
  EXPECT_EQ(flows, 210U);
  EXPECT_EQ(std::get<uint64_t>(table.cell(0, 0)), 10'000U);
  EXPECT_EQ(std::get<uint64_t>(table.cell(0, 2)), 5000U);
  EXPECT_EQ(std::get<uint64_t>(table.cell(19, 0)), 210'000U);
}

TEST(FctBySize, FewFlowsHaveABinEach) {
  EXPECT_EQ(csv_of(table_of(fct_by_size(ended(2, 2)))),
            "size_bytes,flows,fct_p50_ns,fct_p95_ns,fct_p99_ns,slowdown_p50,slowdown_p95,"
            "slowdown_p99\n1000,1,1000,1000,1000,2,2,2\n2000,1,2000,2000,2000,2,2,2\n");
}

TEST(FctBySize, OfOneSizeOrUnmeasuredThereIsNone) {
  EXPECT_FALSE(fct_by_size(ended(5, 1)));
  EXPECT_FALSE(fct_by_size({}));
  ExperimentMeasurement measured = ended(5, 5);
  measured.unmeasured.insert("fct_ns");
  EXPECT_FALSE(fct_by_size(measured));
}

SweepPoint point_of(uint64_t number, std::vector<SweepPoint::Setting> settings) {
  SweepPoint point{.number = number, .settings = std::move(settings)};
  point.seed = 7;
  point.result.verdict = Verdict::Pass;
  point.numbers.rate = 2e9;
  point.numbers.queue = "s,\"x\"";
  point.numbers.fct_ns = {.counts = {{100, 1}, {300, 1}}, .mean = 200};
  return point;
}

TEST(SweepTable, AColumnAKeyAndAMeasure) {
  std::vector<SweepPoint> points = {
      point_of(1, {{"rai", "5mbit"}, {"n", "2"}, {"drops", "a"}, {"seed", "3"}}),
      point_of(2, {{"rai", "1gbit"}, {"n", "4"}, {"drops", "b"}, {"seed", "4"}})};
  points[1].failure = "no room, it says";
  EXPECT_EQ(
      csv_of(sweep_table(points)),
      "number,rai,rai_bps,n,setting.drops,seed,rate_bps,least_rate_bps,most_rate_bps,jain,fcts,"
      "fct_mean_ns,fct_p50_ns,fct_p99_ns,fct_p999_ns,fct_max_ns,queue,queue_mean_bytes,"
      "queue_p50_bytes,queue_p99_bytes,queue_p999_bytes,queue_max_bytes,utilisation,marked,"
      "cnps,drops,retransmitted,wall_s,verdict,failure\n"
      "1,5mbit,5000000,2,a,3,2000000000,0,0,,2,200,100,300,300,300,\"s,\"\"x\"\"\",0,,0,,0,0,0,"
      "0,0,0,0,pass,\n"
      "2,1gbit,1000000000,4,b,4,,,,,,,,,,,,,,,,,,,,,,,void,\"no room, it says\"\n");
}

TEST(SweepTable, AColumnNameIsThereOnce) {
  const std::string csv = csv_of(sweep_table({point_of(1, {{"rate", "40gbit"}, {"jain", "0.9"}})}));
  EXPECT_TRUE(csv.starts_with("number,rate,setting.rate_bps,setting.jain,seed,rate_bps,")) << csv;
}

TEST(SweepTable, ValuesOfSeveralUnitsAreNoNumbers) {
  const std::string csv =
      csv_of(sweep_table({point_of(1, {{"limit", "10us"}}), point_of(2, {{"limit", "64k"}})}));
  EXPECT_TRUE(csv.starts_with("number,limit,seed,rate_bps,")) << csv;
  EXPECT_NE(csv.find("\n2,64k,7,"), std::string::npos) << csv;
}

std::string written(WideSeries &series) {
  std::string text;
  EXPECT_TRUE(series.write([&text](std::string_view piece) {
    text += piece;
    return true;
  }));
  return text;
}

// A column that comes late, and a row that comes in two parts.
TEST(WideSeries, AColumnASeries) {
  std::stringstream rows;
  WideSeries series(rows);
  const std::vector<std::string> flows = {"a", "b"}, queues = {"q,1"};
  series.add({{0, Kind::Queue, 0, "backlog_bytes", 5}, {0, Kind::Flow, 1, "goodput_bps", 1e9}},
             flows, queues);
  series.add({{0, Kind::Total, 0, "jain", 0.5}, {10, Kind::Flow, 0, "alpha", 0.25}}, flows, queues);
  series.add({{20, Kind::Flow, 1, "goodput_bps", 2e9}}, flows, queues);
  EXPECT_EQ(written(series),
            "t_ns,\"queue:q,1:backlog_bytes\",flow:b:goodput_bps,total:jain,flow:a:alpha\n"
            "0,5,1000000000,0.5,\n10,,,,0.25\n20,,2000000000,,\n");
}

TEST(WideSeries, WithoutSamplesThereIsAHeader) {
  std::stringstream rows;
  WideSeries series(rows);
  EXPECT_EQ(written(series), "t_ns\n");
}

// Adds a time with that many flows, a queue and a sum. Goodputs are 0, 1, 2 ..., or `rates`.
void add_time(KeptSamples &kept, uint64_t t_ns, uint32_t flows,
              const std::vector<double> &rates = {}) {
  std::vector<ExperimentSample> samples;
  for (uint32_t i = 0; i < flows; i++)
    samples.push_back({t_ns, Kind::Flow, i, "goodput_bps", rates.empty() ? i : rates[i]});
  samples.push_back({t_ns, Kind::Queue, 0, "backlog_bytes", static_cast<double>(t_ns)});
  samples.push_back({t_ns, Kind::Queue, 0, "marked", 3});
  samples.push_back({t_ns, Kind::Total, 0, "jain", 0.5});
  kept.add(samples);
}

std::vector<uint32_t> flows_of(const KeptSamples &kept, uint32_t most = 2000) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < most; row++)
    if (kept.has(Kind::Flow, row))
      rows.push_back(row);
  return rows;
}

std::string lines_of(const KeptSamples &kept) {
  const std::vector<std::string> flows = {"a", "b", "c"}, queues = {"q"};
  std::string lines;
  kept.each([&](const auto &samples) { lines += series_lines(samples, flows, queues); });
  return lines;
}

TEST(KeptSamples, AllThatFitAreAsTheyWere) {
  KeptSamples kept({.flows = 3});
  add_time(kept, 10, 3);
  add_time(kept, 20, 2);
  const ExperimentSamples chosen = kept.choose();
  EXPECT_EQ(chosen.flows, 3U);
  EXPECT_EQ(chosen.flows_left_out + chosen.queues_left_out + chosen.thinned, 0U);
  EXPECT_EQ(lines_of(kept),
            "10,flow,a,goodput_bps,0\n10,flow,b,goodput_bps,1\n10,flow,c,goodput_bps,2\n"
            "10,queue,q,backlog_bytes,10\n10,queue,q,marked,3\n10,total,,jain,0.5\n"
            "20,flow,a,goodput_bps,0\n20,flow,b,goodput_bps,1\n"
            "20,queue,q,backlog_bytes,20\n20,queue,q,marked,3\n20,total,,jain,0.5\n");
}

TEST(KeptSamples, FlowsAreTheHighestAndTheLowest) {
  KeptSamples kept({.flows = 4});
  add_time(kept, 10, 10);
  const ExperimentSamples chosen = kept.choose();
  EXPECT_EQ(flows_of(kept), (std::vector<uint32_t>{0, 1, 8, 9}));
  EXPECT_EQ(chosen.flows, 4U);
  EXPECT_EQ(chosen.flows_left_out, 6U);
  EXPECT_EQ(chosen.thinned, 0U);
}

TEST(KeptSamples, EqualFlowsAreTakenInTheirOrder) {
  KeptSamples kept({.flows = 3});
  add_time(kept, 10, 6, {5, 7, 5, 5, 5, 5});
  kept.choose();
  EXPECT_EQ(flows_of(kept), (std::vector<uint32_t>{0, 1, 2}));
}

TEST(KeptSamples, NamedFlowsStayWhateverTheLimit) {
  for (const size_t limit : {size_t{0}, size_t{1}, size_t{4}}) {
    KeptSamples kept({.flows = limit});
    for (const uint32_t row : {4U, 5U})
      kept.name(Kind::Flow, row);
    add_time(kept, 10, 10);
    kept.choose();
    EXPECT_EQ(flows_of(kept),
              limit < 4 ? (std::vector<uint32_t>{4, 5}) : (std::vector<uint32_t>{0, 4, 5, 9}));
  }
}

// Eight times become four: events add up, a rate is the mean, a backlog and a sum the later value.
TEST(KeptSamples, ThinnedSamplesAreJoined) {
  KeptSamples kept({.flows = 1, .cells = 4 * 4});
  for (uint64_t t = 10; t <= 80; t += 10)
    add_time(kept, t, 1, {static_cast<double>(t)});
  const ExperimentSamples chosen = kept.choose();
  EXPECT_EQ(chosen.thinned, 16U);
  EXPECT_EQ(chosen.sample_ns, 20U);
  EXPECT_EQ(lines_of(kept).substr(0, 92),
            "20,flow,a,goodput_bps,15\n20,queue,q,backlog_bytes,20\n20,queue,q,marked,6\n"
            "20,total,,jain,0.5\n");
}

// However long it is and however many flows there are: a named one and the extremes stay.
TEST(KeptSamples, MemoryIsBounded) {
  KeptSamples kept({.flows = 4, .cells = 2000, .held = 20'000});
  kept.name(Kind::Flow, 500);
  uint64_t added = 0;
  for (uint64_t t = 1; t <= 3000; t++, added += 1003)
    add_time(kept, t, 1000);
  const ExperimentSamples chosen = kept.choose();
  EXPECT_EQ(flows_of(kept), (std::vector<uint32_t>{0, 500, 998, 999}));
  EXPECT_EQ(chosen.flows_left_out, 996U);
  size_t values = 0, times = 0;
  uint64_t last = 0;
  double marked = 0;
  kept.each([&](const std::vector<ExperimentSample> &samples) {
    times++;
    values += samples.size();
    for (const ExperimentSample &sample : samples) {
      last = sample.t_ns;
      if (std::string_view(sample.column) == "marked")
        marked += sample.value;
    }
  });
  EXPECT_LE(values, 2000U);
  EXPECT_GE(times, 50U);
  EXPECT_EQ(last, 3000U);
  EXPECT_EQ(marked, 9000);
  EXPECT_EQ(chosen.thinned, 3000U * 7 - values);
}

TEST(KeptSamples, QueuesAreTheLongest) {
  KeptSamples kept({.queues = 2});
  for (uint32_t row = 0; row < 5; row++)
    kept.add({{10, Kind::Queue, row, "backlog_bytes", row == 3 ? 100.0 : row == 1 ? 50.0 : 0.0}});
  EXPECT_EQ(kept.choose().queues_left_out, 3U);
  EXPECT_TRUE(kept.has(Kind::Queue, 1) && kept.has(Kind::Queue, 3));
}

} // namespace
} // namespace run_tables_test
