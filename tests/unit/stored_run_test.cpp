// SPDX-License-Identifier: Apache-2.0
// `run compare`: stored runs are read back, and compared number by number.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/experiment.h"
#include "report/json.h"
#include "report/text.h"
#include "sweep/stored_run.h"

namespace stored_run_test {
namespace {

using namespace xr;
using namespace xr::report;
using namespace xr::sweep;
using Kind = ExperimentSample::Kind;

ExperimentResult result_of(size_t flows, double rate) {
  ExperimentResult r;
  r.name = "incast";
  r.place = "virtual";
  r.version = "1.2.3";
  r.seed = 3;
  r.verdict = Verdict::Pass;
  r.measured.duration_ns = 20'000;
  r.measured.packets = 7;
  for (size_t i = 0; i < flows; i++) {
    ExperimentFlow &flow = r.measured.flows.emplace_back();
    flow.name = "flow-" + std::to_string(i + 1);
    flow.goodput_bps = rate * static_cast<double>(i + 1);
    flow.qp = 17;
  }
  r.measured.flows[0].fct_ns = 900;
  ExperimentQueue &queue = r.measured.queues.emplace_back();
  queue.name = "switch:receiver";
  queue.marked = 5;
  queue.backlog_bytes.add(100, 3);
  return r;
}

StoredRun stored(const ExperimentResult &result) {
  auto run = read_stored_run(to_json(experiment_report(result)));
  EXPECT_TRUE(run);
  return std::move(run).get();
}

const RunDifference *find(const std::vector<RunDifference> &all, const std::string &name,
                          const std::string &column) {
  for (const RunDifference &one : all)
    if (one.name == name && one.column == column)
      return &one;
  return nullptr;
}

TEST(StoredRun, ReadsWhatRunWrites) {
  const StoredRun run = stored(result_of(2, 1e9));
  EXPECT_EQ("incast", run.result.name);
  EXPECT_EQ(Verdict::Pass, run.result.verdict);
  EXPECT_EQ(20'000u, run.result.measured.duration_ns);
  ASSERT_EQ(2u, run.result.measured.flows.size());
  EXPECT_EQ(900u, run.result.measured.flows[0].fct_ns);
  EXPECT_FALSE(run.result.measured.flows[1].fct_ns);
  ASSERT_EQ(4u, run.rows.size()); // the whole run, two flows, a queue
  EXPECT_FALSE(read_stored_run("{}"));
  EXPECT_FALSE(read_stored_run("no JSON"));
}

TEST(StoredRun, DifferencesByNameAndColumn) {
  ExperimentResult other = result_of(3, 1.5e9);
  other.measured.queues[0].marked = 0;
  const RunComparison comparison = compare_runs({stored(result_of(2, 1e9)), stored(other)});
  const RunDifference *rate = find(comparison.all, "flow-2", "goodput_bps");
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(2e9, rate->values[0]);
  EXPECT_DOUBLE_EQ(3e9, rate->values[1]);
  EXPECT_DOUBLE_EQ(0.5, rate->relative().value());
  const RunDifference *mean = find(comparison.all, "switch:receiver", "backlog_bytes.mean");
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(0, mean->relative().value());
  const RunDifference *marked = find(comparison.all, "switch:receiver", "marked");
  ASSERT_TRUE(marked);
  EXPECT_DOUBLE_EQ(-1, marked->relative().value());
  EXPECT_FALSE(find(comparison.all, "flow-2", "drops")->relative()); // of 0
  EXPECT_FALSE(find(comparison.all, "flow-1", "qp"));
  EXPECT_EQ(std::vector<std::string>{"flow-3"}, comparison.only_in_one);
}

// A column for each run, and its difference from the first.
TEST(StoredRun, ThreeRunsBesideOneAnother) {
  const std::vector<StoredRun> runs = {stored(result_of(1, 1e9)), stored(result_of(1, 2e9)),
                                       stored(result_of(2, 4e9))};
  const RunComparison comparison = compare_runs(runs);
  const RunDifference *rate = find(comparison.all, "flow-1", "goodput_bps");
  ASSERT_TRUE(rate);
  EXPECT_EQ((std::vector<double>{1e9, 2e9, 4e9}), rate->values);
  EXPECT_DOUBLE_EQ(3, rate->relative(2).value());
  EXPECT_EQ(std::vector<std::string>{"flow-2"}, comparison.only_in_one);

  const std::vector<std::string> labels = {"a", "b", "c"};
  const Document document = comparison_report(labels, runs, comparison);
  const auto json = nlohmann::json::parse(to_json(document));
  EXPECT_EQ(3u, json.at("runs").size());
  std::vector<std::pair<std::string, double>> values;
  for (const auto &row : json.at("values_by_run"))
    if (row.at("name") == "flow-1" && row.at("column") == "goodput_bps")
      values.emplace_back(row.at("run"), row.at("relative"));
  EXPECT_EQ((std::vector<std::pair<std::string, double>>{{"a", 0}, {"b", 1}, {"c", 3}}), values);
  const std::string text = to_text(document);
  EXPECT_NE(std::string::npos, text.find("+100.0 %")) << text;
  EXPECT_NE(std::string::npos, text.find("+300.0 %")) << text;
  // That table is for more than two runs only.
  const std::vector<StoredRun> two(runs.begin(), runs.begin() + 2);
  EXPECT_FALSE(nlohmann::json::parse(to_json(comparison_report({"a", "b"}, two, compare_runs(two))))
                   .contains("values_by_run"));
}

TEST(StoredRun, ManyFlowsAreJoinedInTheSummary) {
  const RunComparison comparison =
      compare_runs({stored(result_of(9, 1e9)), stored(result_of(9, 2e9))});
  EXPECT_TRUE(find(comparison.all, "flow-9", "goodput_bps"));
  EXPECT_FALSE(find(comparison.summary, "flow-9", "goodput_bps"));
  const RunDifference *mean = find(comparison.summary, "mean of 9 flows", "goodput_bps");
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(5e9, mean->values[0]);
  EXPECT_DOUBLE_EQ(10e9, mean->values[1]);
  EXPECT_TRUE(find(comparison.summary, "switch:receiver", "marked"));
}

TEST(StoredRun, SeriesThereAndBack) {
  const StoredRun run = stored(result_of(2, 1e9));
  std::vector<ExperimentSample> samples;
  for (uint64_t t = 1; t <= 5000; t++) {
    samples.push_back({t, Kind::Flow, 1, "goodput_bps", static_cast<double>(t) / 3});
    samples.push_back({t, Kind::Queue, 0, "backlog_bytes", static_cast<double>(t)});
    samples.push_back({t, Kind::Total, 0, "jain", 0.5});
  }
  const std::string path = testing::TempDir() + "/series.csv";
  {
    std::ofstream file(path);
    file << series_header() << series_lines(samples, {"flow-1", "flow-2"}, {"switch:receiver"});
  }
  auto reader = SeriesReader::open(path, run);
  ASSERT_TRUE(reader);
  size_t at = 0;
  for (;;) {
    const auto some = reader->next();
    ASSERT_TRUE(some);
    if (some.get().empty())
      break;
    for (const ExperimentSample &one : some.get()) {
      const ExperimentSample &expected = samples.at(at++);
      ASSERT_EQ(expected.t_ns, one.t_ns);
      ASSERT_EQ(expected.kind, one.kind);
      ASSERT_EQ(expected.row, one.row);
      ASSERT_STREQ(expected.column, one.column);
      ASSERT_DOUBLE_EQ(expected.value, one.value);
    }
  }
  EXPECT_EQ(samples.size(), at);
}

TEST(StoredRun, SeriesOfAnotherRunIsRefused) {
  const std::string path = testing::TempDir() + "/other.csv";
  {
    std::ofstream file(path);
    file << series_header() << "1,flow,flow-9,rate_bps,2\n";
  }
  auto reader = SeriesReader::open(path, stored(result_of(2, 1e9)));
  ASSERT_TRUE(reader);
  const auto samples = reader->next();
  ASSERT_FALSE(samples);
  EXPECT_NE(std::string::npos, samples.error().message.find(":2: '1,flow,flow-9,rate_bps,2'"));
  std::ofstream(path) << "x\n";
  EXPECT_FALSE(SeriesReader::open(path, stored(result_of(2, 1e9))));
  EXPECT_FALSE(SeriesReader::open(path + "-none", stored(result_of(2, 1e9))));
}

} // namespace
} // namespace stored_run_test
