// SPDX-License-Identifier: Apache-2.0
// Tables for other programs: sweep.csv, samples.csv, FCT by flow size.
#include <sstream>

#include <gtest/gtest.h>

#include "report/experiment.h"
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

} // namespace
} // namespace run_tables_test
