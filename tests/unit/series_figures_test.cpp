// SPDX-License-Identifier: Apache-2.0
// The plots of a capture, as SVG and CSV, and the page that has them.
#include <algorithm>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "plot/capture_figures.h"
#include "plot/csv.h"
#include "plot/page.h"
#include "plot/svg.h"

namespace xr::plot::series_figures_test {
namespace {

Analysis analyzed(const std::string &name) {
  AnalyzeRun how;
  how.options.series = how.options.episodes = how.options.passive_latency = true;
  how.options.microbursts = true;
  Result<Analysis> done = analyze(XR_TEST_DATA "/" + name, how);
  EXPECT_TRUE(done.ok()) << name;
  return done ? std::move(done).get() : Analysis{};
}

std::vector<Figure> figures_of(const Analysis &a) {
  return capture_figures(a.series, a.microbursts, a.episodes.pairs);
}

const Figure &named(const std::vector<Figure> &&, const std::string &) = delete; // would dangle
const Figure &named(const std::vector<Figure> &all, const std::string &id) {
  static const Figure kNone;
  const auto at = std::ranges::find(all, id, &Figure::id);
  EXPECT_NE(at, all.end()) << id;
  return at == all.end() ? kNone : *at;
}

std::vector<std::string> lines_of(const std::string &text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

TEST(CaptureFigures, ALossWithItsNakAndGoBack) {
  const Analysis a = analyzed("loss_rc_send_v4.pcap.gz");
  const std::vector<Figure> all = figures_of(a);
  const Figure &psn = named(all, "psn");
  ASSERT_TRUE(psn.choose);
  EXPECT_TRUE(psn.curves.at(0).shown);
  std::map<std::string, size_t> marks; // of the first curve: the stream that lost
  for (const Marks &of : psn.marks)
    if (of.curve == 0)
      marks[of.name] = of.x.size();
  EXPECT_GT(marks["loss"], 0u);
  EXPECT_GT(marks["NAK"], 0u); // which are of the stream of answers
  EXPECT_GT(marks["go-back"], 0u);
  for (const Marks &of : psn.marks)
    if (of.curve == 0 && of.name == "NAK")
      for (const float y : of.y) { // within the PSNs of the requests
        EXPECT_GE(y, *std::ranges::min_element(psn.curves[0].y));
        EXPECT_LE(y, *std::ranges::max_element(psn.curves[0].y));
      }
  // What was lost: the bars of a file are the counter.
  const Figure &losses = named(all, "losses");
  double lost = 0;
  for (const float y : losses.curves.at(0).y)
    lost += static_cast<double>(y);
  double skipped = 0;
  for (const roce_stream &stream : a.snapshot.streams)
    skipped += static_cast<double>(roce_stream_counter(&stream, ROCE_SKIPPED));
  EXPECT_EQ(lost, skipped);
  EXPECT_GT(lost, 0);
}

TEST(CaptureFigures, RatesAreTheBytes) {
  const Analysis a = analyzed("rc_write_q4_v4.pcap.gz");
  const std::vector<Figure> all = figures_of(a);
  const Figure &rate = named(all, "rate");
  double bits = 0, expected = 0;
  for (const float y : rate.curves.at(0).y)
    bits += static_cast<double>(y) * a.series.bin_s();
  for (const roce_stream &stream : a.snapshot.streams)
    expected += static_cast<double>(roce_stream_bytes(&stream)) * 8;
  EXPECT_EQ(rate.curves[0].name, "all streams");
  EXPECT_NEAR(bits, expected, expected * 1e-5);
}

TEST(CaptureFigures, HeatMapsHaveTheTimes) {
  const Analysis a = analyzed("rc_write_q4_v4.pcap.gz");
  const std::vector<Figure> all = figures_of(a);
  const Figure &rtt = named(all, "rtt");
  ASSERT_EQ(rtt.shape, Shape::Heat);
  EXPECT_EQ(rtt.cells.counts.size(), rtt.cells.rows() * rtt.x.size());
  double cells = 0, times = 0, least = 0, most = 0;
  for (const float count : rtt.cells.counts)
    cells += static_cast<double>(count);
  for (const PassiveTimes &of : a.passive.port)
    if (of.kind == ROCE_LATENCY_ACK && !of.bound) {
      times = static_cast<double>(of.count);
      least = static_cast<double>(of.min) / 1e9;
      most = static_cast<double>(of.max) / 1e9;
    }
  EXPECT_GT(times, 0);
  EXPECT_EQ(cells, times);
  EXPECT_LE(rtt.cells.bounds.front(), least);
  EXPECT_GT(rtt.cells.bounds.back(), most);
  // A row of the CSV for each cell that is not empty.
  const auto filled = std::ranges::count_if(rtt.cells.counts, [](float n) { return n > 0; });
  EXPECT_EQ(lines_of(csv(rtt)).size(), static_cast<size_t>(filled) + 1);
}

TEST(CaptureFigures, CsvHasACellForEachCurve) {
  const std::vector<Figure> all = figures_of(analyzed("loss_rc_send_v4.pcap.gz"));
  for (const Figure &figure : all) {
    const std::vector<std::string> lines = lines_of(csv(figure));
    ASSERT_GT(lines.size(), 1u) << figure.id;
    for (const std::string &line : lines) {
      ASSERT_EQ(std::ranges::count(line, ','), std::ranges::count(lines[0], ',')) << line;
      ASSERT_EQ(line.back(), '\r') << figure.id;
    }
    EXPECT_NE(svg(figure).find("</svg>"), std::string::npos);
    EXPECT_EQ(svg(figure).find("nan"), std::string::npos) << figure.id;
    EXPECT_EQ(svg(figure).find("inf"), std::string::npos) << figure.id;
  }
}

TEST(CaptureFigures, APageOfThem) {
  const Analysis a = analyzed("loss_rc_send_v4.pcap.gz");
  CapturePage page;
  page.title = "a </script> capture";
  page.headline = "Lost.";
  page.duration_s = a.series.seconds();
  page.tiles = {{"packets", "7", "", false}};
  page.figures = figures_of(a);
  const std::string text = html(page);
  for (const Figure &figure : page.figures)
    EXPECT_NE(text.find("\"id\":\"" + figure.id + "\""), std::string::npos) << figure.id;
  EXPECT_NE(text.find("\"choose\":true"), std::string::npos);
  EXPECT_EQ(text.find("</script> capture"), std::string::npos);
}

} // namespace
} // namespace xr::plot::series_figures_test
