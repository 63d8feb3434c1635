// SPDX-License-Identifier: Apache-2.0
// Plots of an experiment: thinning, figures, SVG, the HTML page.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "directory.h"
#include "names/quantity.h"
#include "plot/figures.h"
#include "plot/gnuplot.h"
#include "plot/headline.h"
#include "plot/network_layout.h"
#include "plot/overlay.h"
#include "plot/page.h"
#include "plot/strokes.h"
#include "plot/svg.h"
#include "plot/sweep_figure.h"
#include "plot/ticks.h"
#include "plot/timeline.h"

namespace xr::plot::plot_test {
namespace {

using Kind = ExperimentSample::Kind;
using names::quantity;
using names::si;
using test::Directory;

ExperimentResult result_of(size_t flows) {
  ExperimentResult result;
  result.name = "a </script> & more";
  result.place = "virtual";
  result.verdict = Verdict::Fail;
  result.measured.duration_ns = 100'000'000;
  for (size_t i = 0; i < flows; i++) {
    ExperimentFlow flow;
    flow.name = "flow-" + std::to_string(i + 1);
    flow.fct_ns = 1000 * (i + 1);
    flow.slowdown = 1.5;
    result.measured.flows.push_back(std::move(flow));
  }
  ExperimentQueue queue;
  queue.name = "switch:receiver";
  queue.backlog_bytes.add(10);
  queue.backlog_bytes.add(30);
  result.measured.queues.push_back(std::move(queue));
  result.checks.push_back(
      {"sum(flows.drops) == 0", ExperimentCheck::Outcome::Fails, 12, 0, "flow-2", 5'000'000, ""});
  result.prediction.queue_bytes = 20'200;
  result.prediction.share_bps = 5e9;
  result.prediction.applies = "fixed point";
  return result;
}

const Figure *figure_named(const std::vector<Figure> &all, const std::string &id) {
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Figure &figure) { return figure.id == id; });
  return at == all.end() ? nullptr : &*at;
}

std::vector<float> unpacked(const std::string &text) {
  std::string bytes;
  uint32_t group = 0;
  size_t digits = 0;
  for (const char c : text) {
    const char *all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = std::strchr(all, c);
    group = group << 6 | static_cast<uint32_t>(at && c ? at - all : 0);
    if (++digits % 4)
      continue;
    for (const int shift : {16, 8, 0})
      bytes += static_cast<char>(group >> shift);
    group = 0;
  }
  bytes.resize(bytes.size() - static_cast<size_t>(std::count(text.begin(), text.end(), '=')));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

nlohmann::json data_of(const std::string &page) {
  const std::string open = "id=\"data\">";
  const size_t from = page.find(open) + open.size(), to = page.find("</script>", from);
  return nlohmann::json::parse(page.substr(from, to - from));
}

TEST(PlotRecorder, KeepsLeastMeanAndLargestOfEachInterval) {
  Recorder recorder(100'000'000, 10'000, 40); // 10,000 samples in 2,000 intervals
  ASSERT_EQ(2000u, recorder.intervals());
  std::mt19937 random(1);
  std::vector<double> values;
  for (uint64_t n = 1; n <= 10'000; n++) {
    values.push_back(random() % 1000);
    const ExperimentSample one[] = {{n * 10'000, Kind::Flow, 7, "goodput_bps", values.back()}};
    recorder.add(one);
  }
  const Recorder::Cells *cells = recorder.find(Kind::Flow, 7, "goodput_bps");
  ASSERT_TRUE(cells);
  for (size_t i = 0; i < 2000; i++) {
    const auto from = values.begin() + static_cast<long>(i * 5), to = from + 5;
    EXPECT_EQ(5u, (*cells)[i].count) << i;
    EXPECT_FLOAT_EQ(static_cast<float>(*std::min_element(from, to)), (*cells)[i].low);
    EXPECT_FLOAT_EQ(static_cast<float>(*std::max_element(from, to)), (*cells)[i].high);
    EXPECT_DOUBLE_EQ(std::accumulate(from, to, 0.0), (*cells)[i].sum);
  }
  EXPECT_FALSE(recorder.find(Kind::Flow, 8, "goodput_bps"));
  EXPECT_FALSE(recorder.find(Kind::Queue, 7, "goodput_bps"));
}

TEST(PlotRecorder, FewSamplesAreNotThinned) {
  EXPECT_EQ(100u, Recorder(100'000'000, 1'000'000, 2).intervals());
  EXPECT_EQ(50u, Recorder(100'000'000, 1'000, 100'000).intervals());
}

TEST(PlotFigures, LeaveOutWhatHasNoData) {
  const Recorder nothing(100'000'000, 1'000'000, 2);
  const auto all = figures(result_of(3), nothing, {});
  EXPECT_FALSE(figure_named(all, "rate"));
  ASSERT_TRUE(figure_named(all, "fct-cdf"));
  const Curve &fct = figure_named(all, "fct-cdf")->curves.at(0);
  EXPECT_EQ((std::vector<float>{1e-6F, 2e-6F, 3e-6F}), fct.x);
  EXPECT_EQ((std::vector<float>{1 / 3.F, 2 / 3.F, 1}), fct.y);
  ASSERT_TRUE(figure_named(all, "backlog-cdf"));
  EXPECT_EQ(10, figure_named(all, "backlog-cdf")->curves.at(0).x.at(20));
  EXPECT_EQ(30, figure_named(all, "backlog-cdf")->curves.at(0).x.at(60));
}

TEST(PlotFigures, DistributionOfRtt) {
  ExperimentResult result = result_of(2);
  result.measured.flows[1].rtt = {{1'000, 1}, {3'000, 2}, {9'000, 1}};
  const Recorder nothing(100'000'000, 1'000'000, 2);
  const auto all = figures(result, nothing, {});
  ASSERT_TRUE(figure_named(all, "rtt-cdf"));
  ASSERT_EQ(1u, figure_named(all, "rtt-cdf")->curves.size());
  const Curve &curve = figure_named(all, "rtt-cdf")->curves.at(0);
  EXPECT_EQ(result.measured.flows[1].name, curve.name);
  EXPECT_EQ((std::vector<float>{1e-6F, 3e-6F, 9e-6F}), curve.x);
  EXPECT_EQ((std::vector<float>{0.25F, 0.75F, 1}), curve.y);
}

// Two episodes of one flow, with a break, and one of another that begins within the first.
TEST(PlotFigures, TimeLineOfEpisodes) {
  ExperimentResult result = result_of(2);
  const Recorder nothing(100'000'000, 1'000'000, 2);
  EXPECT_FALSE(figure_named(figures(result, nothing, {}), "episodes"));
  result.answers.emplace();
  result.answers->from_ns = 1'000'000'000;
  const auto add = [&](const char *flow, uint64_t at, std::optional<uint64_t> ns) {
    Recovery one;
    one.qp.flow = flow;
    one.at_ns = at;
    one.recovery_ns = ns;
    result.answers->recoveries.push_back(one);
  };
  add("a", 0, 500'000'000);
  add("b", 250'000'000, 1'000'000'000);
  add("a", 1'000'000'000, 500'000'000);
  add("b", 2'000'000'000, std::nullopt); // not recovered: no end
  const auto all = figures(result, nothing, {});
  const Figure *figure = figure_named(all, "episodes");
  ASSERT_TRUE(figure);
  EXPECT_TRUE(figure->time);
  EXPECT_EQ((std::vector<float>{1, 1.25F, 1.5F, 1.75F, 2, 2.25F, 2.5F}), figure->x);
  ASSERT_EQ(2u, figure->curves.size());
  const auto drawn = [&](size_t curve) {
    std::string text;
    for (const float y : figure->curves[curve].y)
      text += std::isnan(y) ? std::string("-") : fmt::format("{}", y);
    return text;
  };
  EXPECT_EQ("111-111", drawn(0));
  EXPECT_EQ("-22222-", drawn(1));
}

TEST(PlotFigures, CountersBecomeRates) {
  Recorder recorder(100'000'000, 10'000'000, 2); // intervals of 10 ms
  const ExperimentSample samples[] = {{10'000'000, Kind::Queue, 0, "marked", 50},
                                      {20'000'000, Kind::Queue, 0, "marked", 20},
                                      {10'000'000, Kind::Queue, 0, "paused_ns", 2'500'000},
                                      {10'000'000, Kind::Queue, 0, "dropped", 0}};
  recorder.add(samples);
  const auto all = figures(result_of(1), recorder, {});
  ASSERT_TRUE(figure_named(all, "marks"));
  EXPECT_FLOAT_EQ(5000, figure_named(all, "marks")->curves.at(0).y.at(0));
  EXPECT_FLOAT_EQ(2000, figure_named(all, "marks")->curves.at(0).y.at(1));
  EXPECT_TRUE(std::isnan(figure_named(all, "marks")->curves.at(0).y.at(2)));
  ASSERT_TRUE(figure_named(all, "pauses"));
  EXPECT_FLOAT_EQ(0.25, figure_named(all, "pauses")->curves.at(0).y.at(0));
  EXPECT_FALSE(figure_named(all, "drops")); // 0 all the time
}

TEST(PlotFigures, ManyFlowsAreHiddenBehindTheirStatistics) {
  Recorder recorder(100'000'000, 10'000'000, 101);
  for (uint32_t i = 0; i < 101; i++) {
    const ExperimentSample one[] = {
        {10'000'000, Kind::Flow, i, "goodput_bps", static_cast<double>(i)}};
    recorder.add(one);
  }
  const auto all = figures(result_of(101), recorder, {});
  const Figure *rate = figure_named(all, "rate");
  ASSERT_TRUE(rate);
  ASSERT_EQ(103u, rate->curves.size());
  EXPECT_TRUE(rate->summary);
  EXPECT_FLOAT_EQ(50, rate->curves[0].y[0]);
  EXPECT_FLOAT_EQ(0, rate->curves[0].low[0]);
  EXPECT_FLOAT_EQ(100, rate->curves[0].high[0]);
  EXPECT_FLOAT_EQ(50, rate->curves[1].y[0]);
  EXPECT_EQ(2, std::count_if(rate->curves.begin(), rate->curves.end(),
                             [](const Curve &curve) { return curve.shown; }));
  ASSERT_EQ(1u, rate->levels.size()); // the predicted share
}

TEST(PlotPage, HasAllValues) {
  Recorder recorder(100'000'000, 1'000'000, 3);
  for (uint64_t n = 1; n <= 99; n++) { // the last interval has no sample
    const ExperimentSample one[] = {
        {n * 1'000'000, Kind::Flow, 0, "goodput_bps", static_cast<double>(n) * 1e9}};
    recorder.add(one);
  }
  ExperimentResult result = result_of(2);
  for (const auto &[value, bound, unit] :
       {std::tuple(3.16e6, 5e6, "ns"), {19.96e9, 18e9, "bit/s"}}) {
    ExperimentCheck &check = result.checks.emplace_back();
    check.value = value;
    check.bound = bound;
    check.unit = unit;
  }
  Page page{"flows: [</script>] # <!-- <script>\n",
            {{0.02, "start flow-2"}},
            figures(result, recorder, {}),
            {{"Answers", {"flow", "NAKs"}, {{"flow-2", 3.0}, {"flow-1", {}}, {"flow-3", "no"}}}}};
  const std::string text = html(result, page);
  EXPECT_EQ(std::string::npos, text.find("http://")); // nothing to load
  const nlohmann::json data = data_of(text);
  EXPECT_EQ("a </script> & more", data["name"]);
  EXPECT_EQ("flows: [</script>] # <!-- <script>\n", data["file"]);
  EXPECT_EQ(std::string::npos, text.find("<!-- <script>")); // would hide the end of the data
  EXPECT_EQ("fail", data["verdict"]);
  EXPECT_EQ("fails", data["checks"][0]["outcome"]);
  EXPECT_EQ(12, data["checks"][0]["value"]) << "a number without a unit";
  EXPECT_EQ("3.16 ms", data["checks"][1]["value"]);
  EXPECT_EQ("5 ms", data["checks"][1]["bound"]);
  EXPECT_EQ("19.96 Gbit/s", data["checks"][2]["value"]);
  EXPECT_EQ("18 Gbit/s", data["checks"][2]["bound"]);
  EXPECT_EQ("flow-2", data["checks"][0]["row"]);
  EXPECT_EQ(0.005, data["checks"][0]["t_s"]);
  EXPECT_EQ("start flow-2", data["moments"][0]["text"]);
  EXPECT_EQ(2u, data["tables"][0]["total"]);
  EXPECT_EQ(R"({"columns":["flow","NAKs"],"rows":[["flow-2",3.0],["flow-1",null],["flow-3","no"]],)"
            R"("title":"Answers","total":3})",
            data["tables"].back().dump());
  const nlohmann::json &rate = data["figures"][0];
  ASSERT_EQ("rate", rate["id"]);
  const std::vector<float> y = unpacked(rate["curves"][0]["y"]), x = unpacked(rate["x"]);
  ASSERT_EQ(100u, y.size());
  ASSERT_EQ(100u, x.size());
  for (size_t i = 0; i < 99; i++) {
    EXPECT_FLOAT_EQ(static_cast<float>(i + 1) * 1e9F, y[i]);
    EXPECT_FLOAT_EQ((static_cast<float>(i) + 0.5F) * 1e-3F, x[i]);
  }
  EXPECT_TRUE(std::isnan(y[99]));
}

// All between `from` and the next `to`, of each `from` of a text.
std::vector<std::string> all_between(const std::string &text, const std::string &from,
                                     const std::string &to) {
  std::vector<std::string> found;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
    at += from.size();
    found.push_back(text.substr(at, text.find(to, at) - at));
  }
  return found;
}

TEST(PlotPage, HasAllItNeeds) {
  const std::string text = html(result_of(2), {});
  EXPECT_NE(std::string::npos, text.find("dygraphs is MIT-licenced"));
  EXPECT_NE(std::string::npos, text.find("Permission is hereby granted, free of charge"));
  EXPECT_EQ(3u, all_between(text, "<script", ">").size()); // no other within one
  EXPECT_EQ(3u, all_between(text, "</script", ">").size());
  for (const char *loads : {"src=\"", "href=\"", "url(", "@import", "sourceMappingURL="})
    for (const std::string &what : all_between(text, loads, "\""))
      EXPECT_EQ(0u, what.find("data:")) << loads << what.substr(0, 80);
}

TEST(PlotPage, ScriptsParse) {
  if (std::system("command -v node >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "node is not installed";
  const Directory directory;
  const std::string path = directory.file("page.js");
  for (const std::string &script : all_between(html(result_of(2), {}), "<script>", "</script>")) {
    std::ofstream(path) << script;
    const std::string check = "node --check '" + path + "'";
    EXPECT_EQ(0, std::system(check.c_str()));
  }
}

// A report has at most 10 MB.
TEST(PlotPage, AThousandFlowsFit) {
  Recorder recorder(100'000'000, 10'000, 1001);
  for (uint32_t row = 0; row < 1000; row++)
    for (uint64_t n = 1; n <= 1000; n++) {
      const ExperimentSample one[] = {
          {n * 100'000, Kind::Flow, row, "goodput_bps", static_cast<double>(n + row)}};
      recorder.add(one);
    }
  const ExperimentResult result = result_of(1000);
  EXPECT_LT(html(result, {{}, {}, figures(result, recorder, {})}).size(), 10'000'000u);
}

TEST(PlotSvg, DrawsShownCurvesAndLevels) {
  Figure figure;
  figure.title = "a < b";
  figure.x = {0, 1, 2};
  figure.levels = {{"Kmin & more", 5}};
  figure.curves.push_back({"one", {1, NAN, 3}, {}, {}, {}});
  figure.curves.push_back({"hidden", {1, 2, 3}, {}, {}, {}, false});
  const std::string text = svg(figure);
  EXPECT_NE(std::string::npos, text.find("a &lt; b"));
  EXPECT_NE(std::string::npos, text.find("Kmin &amp; more"));
  EXPECT_EQ(std::string::npos, text.find("hidden"));
  EXPECT_EQ(std::string::npos, text.find("nan"));
  const size_t path = text.find("<path");
  ASSERT_NE(std::string::npos, path);
  const std::string one = text.substr(path, text.find("/>", path) - path);
  EXPECT_EQ(2, std::count(one.begin(), one.end(), 'M')); // the gap interrupts the line
}

// A figure of 10 points, at 1, 2 ... ms; the last three have no value.
Figure of_milliseconds() {
  Figure figure;
  figure.x_unit = "s";
  figure.y_unit = "bit/s";
  Curve curve{"one", {}, {}, {}, {}};
  for (int i = 1; i <= 10; i++) {
    figure.x.push_back(static_cast<float>(i) * 1e-3F);
    curve.y.push_back(i <= 7 ? static_cast<float>(i) * 2e9F : kNoValue);
  }
  figure.curves.push_back(curve);
  return figure;
}

TEST(PlotSvg, AxesHaveAnSiUnitAndPlainNumbers) {
  const std::string text = svg(of_milliseconds());
  for (const char *words : {">2</text>", ">6</text>", ">ms</text>", ">10</text>", ">Gbit/s</text>"})
    EXPECT_NE(std::string::npos, text.find(words)) << words;
  for (const char *words : {">2m</text>", ">10G</text>", ">s</text>"})
    EXPECT_EQ(std::string::npos, text.find(words)) << words;
}

TEST(PlotSvg, TheAxisEndsWhereTheDataEnds) {
  const std::string text = svg(of_milliseconds());
  EXPECT_EQ(std::string::npos, text.find(">8</text>")) << "there is no value at 8 ms";
  const std::string path = all_between(text, "class=\"curve\"", "/>").at(0);
  EXPECT_NE(std::string::npos, path.find("L700.0,")) << path; // the right edge
}

TEST(PlotSvg, ALevelFarAboveTheDataIsOnlyNamed) {
  Figure figure = of_milliseconds();
  figure.levels = {{"near", 15e9}, {"far", 100e9}};
  const std::string text = svg(figure);
  EXPECT_NE(std::string::npos, text.find(">near</text>"));
  EXPECT_NE(std::string::npos, text.find(">far 100 Gbit/s, above</text>"));
  EXPECT_EQ(1U, all_between(text, "class=\"level\"", "/>").size());
  EXPECT_NE(std::string::npos, text.find(">0</text>"));
  EXPECT_EQ(std::string::npos, text.find(">-0</text>"));
}

TEST(PlotStrokes, NoTwoCurvesLookAlike) {
  for (const auto &[first, second] : {std::pair(16, 16), {32, 0}, {32, 32}, {3, 3}, {1000, 2}}) {
    Figure figure;
    for (int i = 0; i < first + second; i++) {
      Curve curve{fmt::format("curve {}", i), {1, 2}, {}, {}, {}};
      curve.run = i < first ? 0 : 1;
      figure.curves.push_back(std::move(curve));
    }
    figure.x = {0, 1};
    std::set<std::pair<std::string, std::string>> seen;
    for (const Stroke &stroke : strokes(figure))
      seen.emplace(stroke.colour, dash_text(stroke));
    EXPECT_EQ(seen.size(), figure.curves.size()) << first << " and " << second;
    // Each curve and its line in the legend have the same stroke.
    if (figure.curves.size() > 64)
      continue;
    std::set<std::string> drawn, named;
    const std::string text = svg(figure);
    for (const std::string &path : all_between(text, "<path class=\"curve\"", " d="))
      drawn.insert(path);
    for (const std::string &line : all_between(text, "<line x1=", "/>"))
      named.insert(
          line.substr(line.find(" stroke="), line.find(" stroke-width") - line.find(" stroke=")));
    EXPECT_EQ(drawn, named);
    EXPECT_EQ(drawn.size(), figure.curves.size());
  }
}

TEST(PlotGnuplot, ReadsSeries) {
  Figure rate;
  rate.id = "rate";
  rate.title = "Rate of \"each\" flow";
  rate.y_unit = "bit/s";
  rate.kind = "flow";
  rate.column = "goodput_bps";
  rate.curves = {{"mean of all", {}, {}, {}, {}}, {"flow-1", {}, {}, {}, {}}};
  rate.summary = false;
  Figure fct;
  fct.id = "fct-cdf";
  const std::string script = gnuplot({rate, fct});
  EXPECT_NE(std::string::npos, script.find("set output 'rate.svg'"));
  EXPECT_NE(std::string::npos, script.find("flow-1\\\" && $4=="));
  EXPECT_EQ(std::string::npos, script.find("fct-cdf")); // not in series.csv
}

TEST(PlotTicks, AreRound) {
  EXPECT_EQ((std::vector<double>{0, 2, 4, 6, 8, 10}), ticks(0, 10, 6));
  const std::vector<double> some = ticks(0.13, 0.42, 4);
  ASSERT_EQ(3u, some.size());
  EXPECT_NEAR(0.2, some[0], 1e-12);
  EXPECT_NEAR(0.4, some[2], 1e-12);
  EXPECT_TRUE(ticks(1, 1, 5).empty());
  EXPECT_EQ("12.5M", si(12.5e6, "bytes"));
  EXPECT_EQ("3u", si(3e-6, "s"));
  EXPECT_EQ("0", si(0, ""));
  EXPECT_EQ("-1k", si(-1000, "s"));
  EXPECT_EQ("0.25", si(0.25, ""));
}

TEST(PlotTicks, QuantitiesHaveTheirUnits) {
  EXPECT_EQ("117.7 ms", quantity(0.1177, "s"));
  EXPECT_EQ("25 ms", quantity(0.025, "s"));
  EXPECT_EQ("20 Gbit/s", quantity(20e9, "bit/s"));
  EXPECT_EQ("18.51 kB", quantity(18'511, "bytes"));
  EXPECT_EQ("1 MB", quantity(999'999.6, "bytes"));
  EXPECT_EQ("0 s", quantity(0, "s"));
  EXPECT_EQ("0.25", quantity(0.25, ""));
}

// Two numbers that differ are not written the same.
TEST(PlotTicks, DigitsThatDiffer) {
  EXPECT_EQ(4, names::digits_of(3.16e6, 5e6, "ns"));
  EXPECT_EQ(6, names::digits_of(20'000'400'000.0, 20e9, "bit/s"));
  EXPECT_EQ("3.16 ms", quantity(3.16e6, "ns"));
}

// The fewest rows possible, of which none is nearly empty.
TEST(PlotHeadline, TilesFillTheirRows) {
  EXPECT_EQ(4u, tile_columns(8, 7));
  EXPECT_EQ(7u, tile_columns(7, 7));
  EXPECT_EQ(3u, tile_columns(6, 4));
  EXPECT_EQ(1u, tile_columns(0, 7));
  for (size_t count = 1; count < 60; count++)
    for (size_t most = 1; most < 9; most++) {
      const size_t columns = tile_columns(count, most), rows = (count + columns - 1) / columns;
      EXPECT_LE(columns, most);
      EXPECT_EQ((count + most - 1) / most, rows);
      EXPECT_LT(rows * columns - count, rows) << count << " at most " << most;
    }
  const nlohmann::json data = data_of(html(result_of(2), {}));
  EXPECT_EQ("[6,3,2]", data["grid_columns"].dump());
}

// Each spine is a neighbour of each leaf, with links of different words.
PageNetwork leaf_spine(size_t leaves, size_t spines) {
  using Tier = PageNetwork::Node::Tier;
  PageNetwork network;
  for (size_t i = 0; i < spines; i++)
    network.nodes.push_back({fmt::format("spine-{}", i + 1), Tier::Top, false});
  for (size_t i = 0; i < leaves; i++) {
    network.nodes.push_back({fmt::format("leaf-{}", i + 1), Tier::Middle, false});
    network.nodes.push_back(
        {fmt::format("host-{} ... host-{}", i * 8 + 1, i * 8 + 8), Tier::Bottom, true});
  }
  for (size_t leaf = 0; leaf < leaves; leaf++) {
    for (size_t spine = 0; spine < spines; spine++)
      network.links.push_back({.from = spines + 2 * leaf,
                               .to = spine,
                               .rate_bps = (leaf * spines + spine + 1) * 1'000'000'000,
                               .delay_ns = 1000,
                               .rules = leaf ? std::vector<std::string>{}
                                             : std::vector<std::string>{"drop", "mark", "delay"}});
    network.links.push_back(
        {.from = spines + 2 * leaf, .to = spines + 2 * leaf + 1, .rate_bps = 1, .delay_ns = leaf});
  }
  return network;
}

TEST(NetworkLayout, NoLabelLiesOnAnother) {
  for (const auto &[leaves, spines] : {std::pair(2, 2), {4, 4}, {8, 2}, {1, 1}}) {
    const PageNetwork network = leaf_spine(leaves, spines);
    std::vector<std::string> about;
    for (const PageNetwork::Link &link : network.links)
      about.push_back(fmt::format("{} Gbit/s, 1 us", link.rate_bps));
    const NetworkLayout layout = lay_out(network, about);
    std::vector<Box> boxes = layout.nodes;
    size_t labels = 0;
    for (const NetworkLayout::Link &link : layout.links)
      if (!link.words.empty()) {
        labels++;
        boxes.push_back(link.label);
        EXPECT_GE(link.label.x0, 0);
        EXPECT_LE(link.label.x1, layout.width);
      }
    for (size_t i = 0; i < boxes.size(); i++)
      for (size_t j = 0; j < i; j++)
        EXPECT_FALSE(boxes[i].overlaps(boxes[j]))
            << leaves << " x " << spines << ": " << i << ", " << j;
    EXPECT_GE(labels, layout.links.size() / 3) << leaves << " x " << spines;
  }
}

TEST(PlotHeadline, TilesNameTheirScope) {
  ExperimentResult result = result_of(200);
  result.measured.flows[0].whole.drops = 7;
  const auto all = tiles(result);
  ASSERT_EQ(6u, all.size());
  EXPECT_EQ("7", all[1].value);
  EXPECT_TRUE(all[1].alarm);
  EXPECT_EQ("198 us", all[5].value); // of flows that complete after 1, 2 ... 200 us
  result.measured.unmeasured.insert("drops");
  EXPECT_EQ("-", tiles(result)[1].value);
}

// The bottleneck is shown beside the statistics of many queues.
TEST(PlotFigures, TheBottleneckIsShown) {
  ExperimentResult result = result_of(1);
  Recorder recorder(100'000'000, 10'000'000, 41);
  result.measured.queues.clear();
  for (uint32_t i = 0; i < 40; i++) {
    ExperimentQueue queue;
    queue.name = fmt::format("switch:host-{}", i);
    queue.backlog_bytes.add(i == 33 ? 5000 : 10);
    result.measured.queues.push_back(std::move(queue));
    const ExperimentSample one[] = {{10'000'000, Kind::Queue, i, "backlog_bytes", 10.0 + i}};
    recorder.add(one);
  }
  const auto shown = [&](const char *id) {
    std::vector<std::string> names;
    const auto all = figures(result, recorder, {});
    for (const Curve &curve : figure_named(all, id)->curves)
      if (curve.shown)
        names.push_back(curve.name);
    return names;
  };
  EXPECT_EQ((std::vector<std::string>{"mean of all", "median", "switch:host-33"}),
            shown("backlog"));
  EXPECT_EQ("switch:host-33", shown("backlog-cdf").back());
  result.measured.queues[2].alias = "bottleneck";
  EXPECT_EQ("switch:host-2", shown("backlog").back());
}

// Over the first key, a curve for each value of the second, the spread over seeds.
TEST(PlotSweep, SpreadOverSeeds) {
  std::vector<SweepValue> values;
  for (const char *senders : {"2", "8", "4"})
    for (const char *cc : {"none", "dcqcn"})
      for (const char *seed : {"1", "2", "3"})
        values.push_back({{{"senders", senders}, {"congestion", cc}, {"seed", seed}},
                          std::stod(senders) * 100 + (*cc == 'n' ? 10 : 20) + std::stod(seed)});
  const Figure figure = sweep_figure("rate", "Rate", "bit/s", values);
  EXPECT_EQ(figure.x_unit, "senders");
  EXPECT_FALSE(figure.time);
  ASSERT_EQ(figure.curves.size(), 2U);
  EXPECT_EQ(figure.curves[0].name, "congestion=none");
  EXPECT_EQ(figure.curves[0].x, (std::vector<float>{2, 4, 8}));
  EXPECT_EQ(figure.curves[0].y, (std::vector<float>{212, 412, 812}));
  EXPECT_EQ(figure.curves[0].low, (std::vector<float>{211, 411, 811}));
  EXPECT_EQ(figure.curves[1].high, (std::vector<float>{223, 423, 823}));
  EXPECT_NE(svg(figure).find("congestion=dcqcn"), std::string::npos);
}

TEST(PlotSweep, UnitsAndWordsOfTheKey) {
  const auto over = [](const std::vector<const char *> &texts) {
    std::vector<SweepValue> values;
    for (const char *text : texts)
      values.push_back({{{"key", text}, {"seed", "1"}}, 1});
    return sweep_figure("id", "Title", "", values);
  };
  EXPECT_EQ(over({"10us", "2.5us"}).x_unit, "key, us");
  EXPECT_EQ(over({"10us", "2.5us"}).curves[0].x, (std::vector<float>{2.5, 10}));
  EXPECT_EQ(over({"1us", "1ms"}).x_unit, "key") << "not in one unit";
  EXPECT_EQ(over({"1us", "1ms"}).names, (std::vector<std::string>{"1us", "1ms"}));
  EXPECT_TRUE(over({"10us", "2.5us"}).names.empty());
  EXPECT_EQ(over({"red", "step"}).curves[0].x, (std::vector<float>{1, 2}));
  EXPECT_EQ(over({"red"}).x_unit, "all points") << "nothing differs";
}

// One tick a name, with the name.
TEST(PlotSweep, NamesAreTicks) {
  std::vector<SweepValue> values;
  for (const char *name : {"dcqcn", "timely", "hpcc", "swift"})
    values.push_back({{{"congestion", name}}, 1});
  SweepPage page;
  page.figures = {sweep_figure("rate", "Rate", "bit/s", values)};
  const std::string text = svg(page.figures[0]);
  for (const char *name : {"dcqcn", "timely", "hpcc", "swift"})
    EXPECT_EQ(1U, all_between(text, fmt::format(">{}</text", name), ">").size()) << name;
  EXPECT_EQ(std::string::npos, text.find(">2</text>"));
  EXPECT_EQ(R"(["dcqcn","timely","hpcc","swift"])",
            data_of(html(page))["figures"][0]["names"].dump());
}

Figure figure_of(const std::string &id, std::vector<std::string> names, bool summary = false) {
  Figure figure;
  figure.id = id;
  figure.summary = summary;
  figure.levels = {{"Kmin", 5}, {"predicted", summary ? 1.0 : 2.0}};
  for (std::string &name : names)
    figure.curves.push_back({std::move(name), {1, 2}, {}, {}, {}});
  return figure;
}

std::vector<std::string> names_of(const Figure &figure) {
  std::vector<std::string> names;
  for (const Curve &curve : figure.curves)
    names.push_back(curve.name);
  return names;
}

TEST(Overlay, CurvesOfBothRunsInOneFigure) {
  const auto all = overlay({{"a", {figure_of("rate", {"flow-1", "flow-2"})}},
                            {"b", {figure_of("rate", {"flow-1"}), figure_of("drops", {"port"})}}});
  ASSERT_EQ(2u, all.size());
  EXPECT_EQ((std::vector<std::string>{"a: flow-1", "a: flow-2", "b: flow-1"}), names_of(all[0]));
  EXPECT_EQ(2u, all[0].levels.size()); // the same in both
  EXPECT_EQ(0u, all[0].curves[1].run);
  EXPECT_EQ(1u, all[0].curves[2].run);
  EXPECT_EQ((std::vector<std::string>{"b: port"}), names_of(all[1]));
}

TEST(Overlay, StatisticsStayInFront) {
  const auto all = overlay({{"a", {figure_of("rate", {"mean of all", "median", "flow-1"}, true)}},
                            {"b", {figure_of("rate", {"mean of all", "median", "flow-1"}, true)}}});
  EXPECT_EQ((std::vector<std::string>{"a: mean of all", "a: median", "b: mean of all", "b: median",
                                      "b: flow-1", "a: flow-1"}),
            names_of(all[0]));
  const auto mixed =
      overlay({{"a", {figure_of("rate", {"flow-1"})}},
               {"b", {figure_of("rate", {"mean of all", "median", "flow-1"}, true)}}});
  EXPECT_EQ(3u, mixed[0].levels.size()); // the predictions differ
  EXPECT_TRUE(mixed[0].summary);
}

TEST(Overlay, MoreThanTwoRuns) {
  const Figure summary = figure_of("rate", {"mean of all", "median", "flow-1"}, true);
  const auto all = overlay({{"a", {summary}}, {"b", {summary}}, {"c", {summary}}});
  ASSERT_EQ(1u, all.size());
  EXPECT_EQ((std::vector<std::string>{"a: mean of all", "a: median", "b: mean of all", "b: median",
                                      "c: mean of all", "c: median", "c: flow-1", "b: flow-1",
                                      "a: flow-1"}),
            names_of(all[0]));
  std::set<std::vector<int>> dashes;
  for (const Stroke &stroke : strokes(all[0]))
    dashes.insert(stroke.dash);
  EXPECT_EQ(3u, dashes.size()); // one a run
}

TEST(Timeline, HasARowARankAndABarASpan) {
  ExperimentJob job;
  job.name = "a<b";
  job.kind = "all_reduce ring";
  EXPECT_EQ(timeline(job), "");
  job.ranks = {{.host = "h1"}, {.host = "h2"}};
  job.steps = {{.name = "1", .start_ns = 0, .end_ns = 1000}, {.name = "2", .start_ns = 1000}};
  job.spans = {{0, true, 0, 400}, {0, false, 400, 1000}, {1, true, 0, 1000}};
  const std::string drawn = timeline(job);
  const auto count = [&](std::string_view word) {
    size_t found = 0;
    for (size_t at = drawn.find(word); at != std::string::npos; at = drawn.find(word, at + 1))
      found++;
    return found;
  };
  EXPECT_EQ(count("fill=\"#e69f00\""), 1U + 2U); // and the legend
  EXPECT_EQ(count("fill=\"#0072b2\""), 1U + 1U);
  EXPECT_EQ(count(">1 h2<"), 1U);
  EXPECT_EQ(count("a&lt;b"), 1U);
  EXPECT_EQ(count("the first 1 of 2 steps"), 1U);
  // 0.4 of the width between the margins
  EXPECT_NE(drawn.find("x=\"110.00\" y=\"59.0\" width=\"348.00\""), std::string::npos);
}

// 1,024 ranks: 64 rows of 16. Half of the ranks 16 to 31 compute; rank 40 is slow.
TEST(Timeline, HasARowSeveralRanksWhereThereAreMany) {
  ExperimentJob job;
  job.name = "train";
  job.kind = "all_reduce ring";
  for (uint32_t rank = 0; rank < 1024; rank++)
    job.ranks.push_back({.host = "h" + std::to_string(rank)});
  job.ranks[40].slowest = 3;
  for (uint32_t rank = 50; rank < 60; rank++)
    job.ranks[rank].slowest = 1;
  job.steps = {{.name = "1", .start_ns = 0, .end_ns = 1740}};
  for (uint32_t rank = 16; rank < 24; rank++)
    job.spans.push_back({rank, true, 0, 870});
  job.spans.push_back({40, false, 0, 1740});
  const std::string drawn = timeline(job);
  EXPECT_NE(drawn.find("train: all_reduce ring, 1,024 ranks"), std::string::npos);
  for (const char *label : {">0-15<", ">1008-1023<", ">40 h40<", ">50 h50<", ">56 h56<"})
    EXPECT_NE(drawn.find(label), std::string::npos) << label;
  EXPECT_EQ(drawn.find(">57 h57<"), std::string::npos); // the ninth
  EXPECT_LT(drawn.find(">40 h40<"), drawn.find(">50 h50<"));
  // Two captions and eight ranks, then 0-15, 16-31 and 32-47.
  EXPECT_NE(drawn.find("<path stroke=\"#e69f00\" stroke-opacity=\"0.6\" stroke-width=\"7\" "
                       "d=\"M110 238h435\"/>"),
            std::string::npos);
  EXPECT_NE(drawn.find("stroke-opacity=\"1.0\" stroke-width=\"7\" d=\"M110 86h870\"/>"),
            std::string::npos);
  EXPECT_NE(drawn.find("stroke-opacity=\"0.2\" stroke-width=\"7\" d=\"M110 262h870\"/>"),
            std::string::npos);
}

TEST(Timeline, OfManyRanksIsASmallFile) {
  ExperimentJob job;
  job.ranks.resize(1000);
  job.steps = {{.name = "1", .start_ns = 0, .end_ns = 1000}};
  for (uint32_t rank = 0; rank < 1000; rank++) {
    job.ranks[rank].slowest = 1;
    for (const bool compute : {true, false})
      for (uint64_t at = rank % 8 + rank / 16 % 8; at < 1000; at += 11 + rank / 100)
        job.spans.push_back({rank, compute, at, at + 5});
  }
  const std::string drawn = timeline(job);
  EXPECT_LE(drawn.size(), 300'000U);
  EXPECT_NE(drawn.find(">992-999<"), std::string::npos);
}

} // namespace
} // namespace xr::plot::plot_test
