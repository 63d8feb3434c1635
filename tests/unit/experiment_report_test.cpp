// SPDX-License-Identifier: Apache-2.0
// The files of a result: keys of result.json, JUnit XML, TAP, series.csv, sweeps.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/experiment.h"
#include "report/json.h"
#include "report/text.h"
#include "sweep/point.h"

namespace experiment_report_test {
namespace {

using namespace xr;
using namespace xr::report;
using namespace xr::sweep;
using nlohmann::json;
using Outcome = ExperimentCheck::Outcome;

ExperimentResult result() {
  ExperimentResult r;
  r.name = "a <b> & \"c\"";
  r.place = "virtual";
  r.seed = 3;
  r.version = "1.2.3";
  r.verdict = Verdict::Fail;
  r.measured.flows.resize(1);
  r.measured.flows[0].name = "flow-1";
  r.measured.flows[0].goodput_bps = 1.5e9;
  r.measured.flows[0].bytes = 187'500'000;
  r.measured.flows[0].ran_to_ns = 1'000'000'000;
  r.measured.flows[0].drops = 2;
  r.measured.flows[0].end_ns = 9;
  r.measured.queues.resize(1);
  r.measured.queues[0].name = "switch:receiver";
  r.measured.queues[0].packets = 5;
  r.measured.queues[0].backlog_bytes.add(100, 3);
  r.measured.packets = 7;
  r.prediction.queue_bytes = 20'000.4;
  r.prediction.applies = "fixed point";
  r.checks = {{.text = "sum(flows.drops) == 0",
               .outcome = Outcome::Fails,
               .value = 2,
               .bound = 0,
               .row = "flow-1",
               .t_ns = 5'000'000,
               .why = {}},
              {.text = "jain > 0",
               .outcome = Outcome::Holds,
               .value = 1,
               .bound = 0,
               .row = {},
               .why = {}}};
  return r;
}

TEST(ExperimentReport, NothingPassedHasNoFairness) {
  ExperimentResult r = result();
  EXPECT_TRUE(json::parse(to_json(experiment_report(r))).at("jain").is_null());
  EXPECT_EQ(to_text(experiment_report(r), {}).find("Jain"), std::string::npos);
  r.measured.jain = 0.5;
  EXPECT_EQ(json::parse(to_json(experiment_report(r))).at("jain"), 0.5);
  EXPECT_NE(to_text(experiment_report(r), {}).find("0.5000"), std::string::npos);
}

TEST(ExperimentReport, KeysOfTheContract) {
  const ExperimentResult r = result();
  const json j = json::parse(to_json(experiment_report(r)));
  EXPECT_EQ(j.at("schema"), 1);
  EXPECT_EQ(j.at("experiment"), r.name);
  EXPECT_EQ(j.at("place"), "virtual");
  EXPECT_EQ(j.at("seed"), 3);
  EXPECT_EQ(j.at("verdict"), "fail");
  EXPECT_EQ(j.at("why_void"), json::array());
  EXPECT_EQ(j.at("expectations")[0], (json{{"text", "sum(flows.drops) == 0"},
                                           {"holds", false},
                                           {"value", 2.0},
                                           {"bound", 0.0},
                                           {"row", "flow-1"},
                                           {"t_ns", 5'000'000},
                                           {"capture", nullptr},
                                           {"frame", nullptr},
                                           {"why", nullptr}}));
  EXPECT_EQ(j.at("prediction").at("queue_bytes"), 20'000);
  EXPECT_EQ(j.at("prediction").at("stable"), nullptr);
  EXPECT_EQ(j.at("prediction").at("applies"), "fixed point");
  for (const char *key : {"mark_probability", "alpha", "share_bps", "convergence_ns"})
    EXPECT_TRUE(j.at("prediction").contains(key)) << key;
  for (const char *key : {"name", "src", "dst", "qp", "bytes", "packets", "goodput_bps", "wire_bps",
                          "start_ns", "end_ns", "fct_ns", "slowdown", "marked", "cnps", "cuts",
                          "retransmitted", "timeouts", "drops"})
    EXPECT_TRUE(j.at("flows")[0].contains(key)) << key;
  EXPECT_FALSE(j.at("flows")[0].contains("rate_bps")); // goodput before 1.0
  EXPECT_EQ(j.at("flows")[0].at("end_ns"), 9);
  EXPECT_EQ(j.at("flows")[0].at("fct_ns"), nullptr);
  EXPECT_EQ(j.at("queues")[0].at("backlog_bytes"),
            (json{{"mean", 100.0}, {"p50", 100}, {"p99", 100}, {"max", 100}}));
  for (const char *key :
       {"name", "packets", "marked", "dropped", "pauses", "paused_ns", "utilisation"})
    EXPECT_TRUE(j.at("queues")[0].contains(key)) << key;
  for (const char *key : {"jain", "packets", "packet_hops", "wall_s", "cpu_s", "version"})
    EXPECT_TRUE(j.contains(key)) << key;
}

TEST(ExperimentReport, Summary) {
  ExperimentResult r = result();
  r.verdict = Verdict::Void;
  r.measured.why_void = {"no frame was sent"};
  const std::string text = to_text(experiment_report(r));
  for (const char *words : {"void", "no frame was sent", "FAILS", "sum(flows.drops) == 0",
                            "flow-1 at 5 ms", "switch:receiver", "20 KB"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
}

TEST(ExperimentReport, SummaryCountsTheFlowsThatItLeavesOut) {
  ExperimentResult r = result();
  r.measured.flows.resize(20);
  EXPECT_NE(to_text(experiment_report(r)).find("\n4 more flows in result.json\n"),
            std::string::npos);
}

TEST(ExperimentReport, SaysWhichSamplesAreLeftOut) {
  ExperimentResult r = result();
  EXPECT_FALSE(json::parse(to_json(experiment_report(r))).contains("samples"));
  r.samples = {.flows = 64,
               .flows_left_out = 9936,
               .queues_left_out = 1,
               .thinned = 1234,
               .sample_ns = 1000,
               .flow_sample_ns = 32'000};
  EXPECT_EQ(json::parse(to_json(experiment_report(r))).at("samples"),
            (json{{"flows", 64},
                  {"flows_left_out", 9936},
                  {"queues_left_out", 1},
                  {"thinned", 1234},
                  {"sample_ns", 1000},
                  {"flow_sample_ns", 32'000}}));
  const std::string text = to_text(experiment_report(r));
  for (const char *words :
       {"9,936 flows without samples", "1 queue without samples", "1,234 samples thinned",
        "flows each 32 us, queues each 1 us", "sample-flows: all"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
}

TEST(ExperimentReport, FilesForOthers) {
  ExperimentResult r = result();
  EXPECT_EQ(tap({&r}), "TAP version 13\n1..3\nok 1 - a <b> & \"c\": measured\n"
                       "not ok 2 - sum(flows.drops) == 0\n"
                       "# value 2, bound 0, flow-1, at 5000000 ns\nok 3 - jain > 0\n");
  const std::string xml = junit_xml({&r});
  for (const char *words :
       {"tests=\"3\" failures=\"1\" errors=\"0\"", "name=\"a &lt;b&gt; &amp; &quot;c&quot;\"",
        "<failure message=\"value 2, bound 0, flow-1, at 5000000 ns\"/>"})
    EXPECT_NE(xml.find(words), std::string::npos) << words << " is not in\n" << xml;
  r.name =
      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 \xff\xc3 \xed\xa0\x80 \xc0\x80\xef\xbf\xbf \x1b[31m";
  EXPECT_NE(
      junit_xml({&r}).find("name=\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 ?? ??? ????? ?[31m\""),
      std::string::npos)
      << junit_xml({&r});
  EXPECT_NE(tap({&r}).find(" ?[31m: measured"), std::string::npos);
  r.verdict = Verdict::Void;
  r.measured.why_void = {"x < y"};
  r.checks[0].outcome = Outcome::Unmeasured;
  r.checks[0].why = "no samples";
  EXPECT_NE(junit_xml({&r}).find("failures=\"0\" errors=\"2\""), std::string::npos);
  EXPECT_NE(tap({&r}).find("not ok 1 - "), std::string::npos);
  EXPECT_NE(tap({&r}).find("# not measured: no samples"), std::string::npos);

  using Kind = ExperimentSample::Kind;
  EXPECT_EQ(series_header() + series_lines({{100, Kind::Flow, 0, "goodput_bps", 1.5},
                                            {100, Kind::Queue, 0, "marked", 3},
                                            {200, Kind::Total, 0, "jain", 0.25}},
                                           {"flow-1"}, {"a:b"}),
            "t_ns,kind,name,column,value\n100,flow,flow-1,goodput_bps,1.5\n"
            "100,queue,a:b,marked,3\n"
            "200,total,,jain,0.25\n");
}

// Answers from captures have a text instead of numbers, and the frame to look at.
TEST(ExperimentReport, ChecksNameTheFrame) {
  ExperimentResult r = result();
  ExperimentCheck &check = r.checks[0];
  check.text = "all(episodes, cause == 'nak')";
  check.value.reset();
  check.bound.reset();
  check.value_text = "timeout";
  check.bound_text = "nak";
  check.row = "episode 2 (flow-1)";
  check.capture = "left";
  check.frame = 17;
  const json j = json::parse(to_json(experiment_report(r))).at("expectations")[0];
  EXPECT_EQ(j.at("value"), "timeout");
  EXPECT_EQ(j.at("bound"), "nak");
  EXPECT_EQ(j.at("capture"), "left");
  EXPECT_EQ(j.at("frame"), 17);
  const std::string words =
      "value timeout, bound nak, episode 2 (flow-1), at 5000000 ns, left.pcapng frame 17";
  EXPECT_NE(tap({&r}).find("# " + words + "\n"), std::string::npos) << tap({&r});
  EXPECT_NE(junit_xml({&r}).find("message=\"" + words + "\""), std::string::npos);
  const std::string text = to_text(experiment_report(r));
  EXPECT_NE(text.find("episode 2 (flow-1) at 5 ms, left.pcapng frame 17"), std::string::npos)
      << text;
  SweepPoint point;
  ASSERT_TRUE(unpack_point(pack_point(r), point));
  EXPECT_EQ(tap({&point.result}), tap({&r}));
}

TEST(ExperimentReport, SweepPointsSurviveTheirProcess) {
  const ExperimentResult r = result();
  SweepPoint point{.settings = {{"seed", "3"}}, .directory = "d", .failure = {}};
  ASSERT_TRUE(unpack_point(pack_point(r), point));
  EXPECT_EQ(point.result.verdict, Verdict::Fail);
  EXPECT_EQ(tap({&point.result}), tap({&r}));
  EXPECT_EQ(point.numbers.queue, "switch:receiver");
  EXPECT_EQ(point.numbers.queue_max, 100U);
  EXPECT_EQ(point.numbers.drops, 2U);
  EXPECT_EQ(point.numbers.rate, 1.5e9);
  EXPECT_FALSE(unpack_point("", point));
  EXPECT_FALSE(unpack_point("[1]", point));
  SweepPoint lost{.settings = {{"seed", "4"}}, .directory = {}, .failure = "it did not run"};
  const json j = json::parse(to_json(sweep_report("s", {point, lost})));
  EXPECT_EQ(j.at("verdict"), "void");
  EXPECT_EQ(j.at("points")[0].at("point"), "seed=3");
  EXPECT_EQ(j.at("points")[0].at("verdict"), "fail");
  EXPECT_EQ(j.at("points")[0].at("why"), "sum(flows.drops) == 0: 2");
  EXPECT_EQ(j.at("points")[1].at("why"), "it did not run");
}

// Percentiles are those of all values, not the mean of the points' percentiles.
TEST(ExperimentReport, SeedsOfASweepAreAddedUp) {
  std::vector<SweepPoint> points;
  Histogram backlog, fct_ns;
  double sum = 0;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    ExperimentResult r = result();
    r.verdict = Verdict::Pass;
    ExperimentQueue &queue = r.measured.queues[0];
    queue.backlog_bytes = {};
    queue.backlog_bytes.add(1000 * seed, 900);
    queue.backlog_bytes.add(777'777 * seed, 10 * seed);
    backlog.merge(queue.backlog_bytes);
    r.measured.flows[0].fct_ns = 12'345'678 * seed;
    fct_ns.add(12'345'678 * seed);
    sum += 12'345'678.0 * static_cast<double>(seed);
    for (size_t i = 1; i < r.measured.flows.size(); i++)
      r.measured.flows[i].fct_ns.reset();
    r.measured.flows[0].retransmitted = seed;
    SweepPoint point{.settings = {{"load", "30%"}, {"seed", std::to_string(seed)}}};
    ASSERT_TRUE(unpack_point(pack_point(r), point));
    points.push_back(point);
  }
  points.push_back({.settings = {{"seed", "4"}, {"load", "30%"}}, .failure = "it did not run"});
  points.push_back({.settings = {{"load", "50%"}, {"seed", "1"}}}); // alone
  points.back().result.verdict = Verdict::Pass;
  const json all = json::parse(to_json(sweep_report("s", points))).at("seeds");
  ASSERT_EQ(all.size(), 1U);
  const json &row = all[0];
  EXPECT_EQ(row.at("point"), "load=30%");
  EXPECT_EQ(row.at("points"), 3);
  EXPECT_EQ(row.at("left_out"), 1);
  EXPECT_EQ(row.at("queue"), "switch:receiver");
  EXPECT_EQ(row.at("queue_p50_bytes"), backlog.quantile(0.5));
  EXPECT_EQ(row.at("queue_p99_bytes"), backlog.quantile(0.99));
  EXPECT_EQ(row.at("queue_p999_bytes"), backlog.quantile(0.999));
  EXPECT_EQ(row.at("queue_max_bytes"), 777'777U * 3);
  EXPECT_NEAR(row.at("queue_mean_bytes").get<double>(), backlog.mean(), 1e-6 * backlog.mean());
  EXPECT_EQ(row.at("fcts"), 3);
  EXPECT_EQ(row.at("fct_p50_ns"), fct_ns.quantile(0.5));
  EXPECT_EQ(row.at("fct_max_ns"), 12'345'678U * 3);
  EXPECT_NEAR(row.at("fct_mean_ns").get<double>(), sum / 3, 1);
  EXPECT_EQ(row.at("retransmitted"), 6);
  EXPECT_EQ(row.at("drops"), 6);
  EXPECT_EQ(row.at("rate_bps"), 1.5e9);
}

TEST(ExperimentReport, StoredPointsComeBack) {
  const ExperimentResult r = result();
  const SweepPoint point{.number = 3,
                         .run = "0123",
                         .host = "a",
                         .settings = {{"seed", "3"}, {"queue.words", "red \"1\""}},
                         .directory = "d"};
  auto stored = read_stored_point(stored_point(point, pack_point(r), 7));
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->of, 7U);
  EXPECT_EQ(stored->point.number, 3U);
  EXPECT_EQ(stored->point.run, "0123");
  EXPECT_EQ(stored->point.host, "a");
  EXPECT_EQ(stored->point.settings, point.settings);
  EXPECT_EQ(stored->point.seed, r.seed);
  EXPECT_EQ(stored->point.numbers.rate, 1.5e9);
  EXPECT_EQ(tap({&stored->point.result}), tap({&r}));
  EXPECT_FALSE(read_stored_point(""));
  EXPECT_FALSE(read_stored_point("{}"));
  EXPECT_FALSE(read_stored_point(stored_point(point, "[]", 7)));
  EXPECT_FALSE(read_stored_point(stored_point(point, pack_point(r), 2))) << "the third of two";
}

TEST(ExperimentReport, AMissingPointMakesASweepVoid) {
  SweepPoint point;
  ASSERT_TRUE(unpack_point(pack_point(result()), point));
  const json whole = json::parse(to_json(sweep_report("s", {point})));
  EXPECT_EQ(whole.at("verdict"), "fail");
  EXPECT_EQ(whole.at("missing"), json::array());
  const json part = json::parse(to_json(sweep_report("s", {point}, {2, 5})));
  EXPECT_EQ(part.at("verdict"), "void");
  EXPECT_EQ(part.at("missing"), json::array({"2", "5"}));
}

} // namespace
} // namespace experiment_report_test
