// SPDX-License-Identifier: Apache-2.0
// The files of a result: keys of result.json, JUnit XML, TAP, series.csv, sweeps.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/experiment.h"
#include "report/json.h"
#include "report/text.h"

namespace {

using namespace xr;
using namespace xr::report;
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
  r.measured.flows[0].rate_bps = 1.5e9;
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
                                           {"why", nullptr}}));
  EXPECT_EQ(j.at("prediction").at("queue_bytes"), 20'000);
  EXPECT_EQ(j.at("prediction").at("stable"), nullptr);
  EXPECT_EQ(j.at("prediction").at("applies"), "fixed point");
  for (const char *key : {"mark_probability", "alpha", "share_bps", "convergence_ns"})
    EXPECT_TRUE(j.at("prediction").contains(key)) << key;
  for (const char *key :
       {"name", "src", "dst", "qp", "bytes", "packets", "rate_bps", "start_ns", "end_ns", "fct_ns",
        "slowdown", "marked", "cnps", "cuts", "retransmitted", "timeouts", "drops"})
    EXPECT_TRUE(j.at("flows")[0].contains(key)) << key;
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
  r.verdict = Verdict::Void;
  r.measured.why_void = {"x < y"};
  r.checks[0].outcome = Outcome::Unmeasured;
  r.checks[0].why = "no samples";
  EXPECT_NE(junit_xml({&r}).find("failures=\"0\" errors=\"2\""), std::string::npos);
  EXPECT_NE(tap({&r}).find("not ok 1 - "), std::string::npos);
  EXPECT_NE(tap({&r}).find("# not measured: no samples"), std::string::npos);

  using Kind = ExperimentSample::Kind;
  EXPECT_EQ(series_header() + series_lines({{100, Kind::Flow, 0, "rate_bps", 1.5},
                                            {100, Kind::Queue, 0, "marked", 3},
                                            {200, Kind::Total, 0, "jain", 0.25}},
                                           {"flow-1"}, {"a:b"}),
            "t_ns,kind,name,column,value\n100,flow,flow-1,rate_bps,1.5\n100,queue,a:b,marked,3\n"
            "200,total,,jain,0.25\n");
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
