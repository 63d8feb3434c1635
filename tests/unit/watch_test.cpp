// SPDX-License-Identifier: Apache-2.0
// The live view: readings and keys in, contents of the screen out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <arpa/inet.h>

#include "golden.h"
#include "live_jobs.h"
#include "report/stream_columns.h"
#include "roce/opcode.h"
#include "snapshots.h"
#include "watch/meters.h"
#include "watch/model.h"
#include "watch/stream_table.h"
#include "watch/text_width.h"

namespace watch_test {
namespace {

using namespace xr;
using namespace xr::watch;

constexpr Size kUsual{80, 24}, kLarge{120, 40};

Reading reading_of(const Snapshot &snapshot) {
  Reading reading;
  reading.snapshot = snapshot;
  reading.realtime_ns = kTime + snapshot.time_ns;
  return reading;
}

// A port that was read twice, a second apart.
Model busy_model(const Options &options = {}) {
  setenv("TZ", "UTC", 1);
  Model model(options);
  model.add_port("eth1", "native");
  Reading reading = reading_of(busy_port());
  reading.rules = {{1, "opcode ack every 5 drop", "", 1000, 200}, {2, "all ce", "", 0, 0}};
  reading.events = one_event_of_each();
  model.update(0, reading);
  Reading later = reading_of(a_second_later(busy_port()));
  later.rules = {{1, "opcode ack every 5 drop", "", 2000, 400}, {2, "all ce", "", 0, 0}};
  later.rules[0].matched_bytes = 250'000;
  model.update(0, later);
  return model;
}

void type(Model &model, const std::string &text) {
  for (const char c : text)
    model.press({Key::Text, std::string(1, c)});
}

std::string text_of(Model &model, const Size &size = kUsual) { return to_text(model.screen(size)); }

bool has(const std::string &text, const std::string &what) {
  return text.find(what) != std::string::npos;
}

// The line that has it; "" if none does.
std::string line_with(const std::string &text, const std::string &what) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (has(line, what))
      return line;
  return "";
}

// Text of all that looks so.
std::string looking(Model &model, Style style, const Size &size = kUsual) {
  std::string out;
  for (const Line &line : model.screen(size).lines)
    for (const Span &span : line.spans())
      if (span.style == style)
        out += span.text + "\n";
  return out;
}

// Streams of one address pair, QPs from 0x100 on, each with other counters.
Snapshot many(size_t count, uint64_t time_ns = 1'000'000'000) {
  Snapshot s = busy_port();
  s.time_ns = time_ns;
  const roce_stream one = s.streams[1];
  s.streams.clear();
  for (size_t i = 0; i < count; i++) {
    roce_stream stream = one;
    stream.key.qp_kind = static_cast<__u32>(0x100 + i) | ROCE_KIND_REQUEST << ROCE_KIND_SHIFT;
    stream.packets = 1000 + i;
    stream.counter_low[ROCE_FILLED] = 0;
    stream.counter_low[ROCE_SKIPPED] = stream.counter_low[ROCE_LOST] =
        static_cast<__u32>(count - i);
    stream.counter_low[ROCE_REWINDS] = static_cast<__u32>(i);
    s.streams.push_back(stream);
  }
  return s;
}

Model model_of(const Snapshot &snapshot) {
  Model model(Options{});
  model.add_port("eth1");
  model.update(0, reading_of(snapshot));
  return model;
}

std::string selected(Model &model) {
  const std::string text = looking(model, Style::Selected);
  const size_t at = text.find("0x");
  return at == std::string::npos ? "" : text.substr(at, 8);
}

TEST(WatchGolden, OneScreen) {
  Model model = busy_model();
  expect_golden("watch_80x24.txt", text_of(model));
}

// Meters of nothing leave room for streams.
TEST(WatchGolden, ManyStreams) {
  Snapshot s = many(40);
  s.totals.streams_full = s.totals.streams_contended = s.totals.events_dropped = 0;
  s.totals.events_limited = s.totals.streams_forgotten = 0;
  Model model = model_of(s);
  const auto streams = [&](const Size &size) {
    const std::string text = text_of(model, size);
    size_t rows = 0;
    for (size_t at = 0; (at = text.find(" 0x0001", at)) != std::string::npos; at++)
      rows++;
    return rows;
  };
  EXPECT_GE(streams({80, 24}), 12U);
  EXPECT_GE(streams({60, 12}), 3U);
  expect_golden("watch_many_80x24.txt", text_of(model));
  expect_golden("watch_many_200x50.txt", text_of(model, {200, 50}));
}

TEST(WatchGolden, AsciiAndOnce) {
  Options options;
  options.unicode = false;
  options.interactive = false;
  Model model = busy_model(options);
  const std::string text = text_of(model, kLarge);
  EXPECT_TRUE(std::all_of(text.begin(), text.end(),
                          [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
  expect_golden("watch_once_120x40.txt", text);
}

// A port of a wire, read twice, a second apart.
TEST(WatchGolden, LinkOfAWire) {
  setenv("TZ", "UTC", 1);
  Model model({});
  model.add_port("eth1", "native");
  Reading first = reading_of(busy_port());
  first.wire = std::make_shared<WirePortCounts>(busy_wire());
  first.wire_running = true;
  model.update(0, first);
  EXPECT_TRUE(has(text_of(model, {160, 40}), "LINK  out 0/s")) << "no rates from one reading";
  Reading later = reading_of(a_second_later(busy_port()));
  later.wire = std::make_shared<WirePortCounts>(a_second_later(busy_wire()));
  later.wire_running = true;
  model.update(0, later);
  const std::string text = text_of(model, {160, 40});
  EXPECT_TRUE(has(text, "busy 83 %")) << text;
  EXPECT_TRUE(has(text, "dropped, buffer 60  dropped, aqm 30  marked CE 41")) << text;
  EXPECT_FALSE(has(text, "no wire process"));
  expect_golden("watch_link_160x40.txt", text);
  later.wire_running = false;
  model.update(0, later);
  EXPECT_TRUE(has(text_of(model, {160, 40}), "LINK  no wire process, last: out 0/s"));
}

TEST(Watch, APortWithoutALinkHasNoLinkLine) {
  Model model = busy_model();
  EXPECT_FALSE(has(text_of(model, kLarge), "LINK"));
  Reading reading = reading_of(busy_port());
  WirePortCounts rules_only = busy_wire();
  rules_only.link = {};
  reading.wire = std::make_shared<WirePortCounts>(rules_only);
  model.update(0, reading);
  EXPECT_FALSE(has(text_of(model, kLarge), "LINK"));
}

TEST(Watch, RatesOfTheEndpoint) {
  Model model = busy_model();
  EXPECT_FALSE(has(text_of(model, kLarge), "RATES"));
  Reading reading = reading_of(busy_port());
  reading.rates = std::make_shared<EndpointRates>(controlled_rates());
  model.update(0, reading);
  EXPECT_TRUE(has(text_of(model, kLarge),
                  "RATES send  20 QPs 10.0 Gbit/s (1.00 Gbit/s to 4.00 Gbit/s)  alpha 0.120  "
                  "Jain 0.875  CNPs 200  cuts 178"))
      << text_of(model, kLarge);
  reading.rates = nullptr; // it has ended
  model.update(0, reading);
  EXPECT_FALSE(has(text_of(model, kLarge), "RATES"));
}

// The rates of 812,400 UC packets; 4 of a new stream to QP 1 are no data.
TEST(Watch, Rates) {
  Model model = busy_model();
  const std::string text = text_of(model, kLarge);
  EXPECT_TRUE(has(line_with(text, "SEND, WRITE"), "812,396")) << text;
  EXPECT_TRUE(has(line_with(text, "ECT(0)"), "812,345")) << text;
  EXPECT_TRUE(has(line_with(text, " CE "), "55")) << text;
  EXPECT_TRUE(has(line_with(text, "\u2588  CNP unknown"), "CNP                  2.0")) << text;
  EXPECT_TRUE(has(line_with(text, "SEND, WRITE"), "27.2 G")) << text; // 812,400 * 4,186 * 8
}

TEST(Watch, AResetCounterHasNoRate) {
  Model model = model_of(busy_port());
  Snapshot later = busy_port();
  later.time_ns += 1'000'000'000;
  later.opcodes[ROCE_UC_SEND_FIRST] = {};
  model.update(0, reading_of(later));
  const std::string text = text_of(model, kLarge);
  EXPECT_TRUE(has(line_with(text, "SEND, WRITE"), "SEND, WRITE            0")) << text;
}

// Every page, at every size: no line too long, none too many.
TEST(Watch, FitsTheScreen) {
  for (const char *page : {"", "h", "s", "r", "e", "\r", "/abc"})
    for (const Size &size : {kUsual, kLarge, Size{60, 15}, Size{200, 50}, Size{30, 5}, Size{29, 5},
                             Size{300, 100}, Size{7, 3}, Size{1, 1}, Size{80, 4}, Size{31, 70}}) {
      Model model = busy_model();
      page[0] == '\r' ? model.press({Key::Enter}) : type(model, page);
      for (int shifts = 0; shifts < 3; shifts++, model.press({Key::Right})) {
        const Screen frame = model.screen(size);
        EXPECT_LE(frame.lines.size(), size.rows) << page;
        for (const Line &line : frame.lines)
          EXPECT_LE(columns_of(line.text()), size.columns) << page << ": " << line.text();
      }
    }
}

TEST(Watch, ASmallScreenShowsAMessage) {
  Model model = busy_model();
  EXPECT_TRUE(has(text_of(model, {40, 4}), "too small"));
  EXPECT_FALSE(has(text_of(model, {60, 15}), "too small"));
  EXPECT_TRUE(has(text_of(model, {60, 15}), "0x000011")) << text_of(model, {60, 15});
}

TEST(Watch, SortKeysPutStreamsInOrder) {
  Model model = model_of(many(100));
  EXPECT_EQ(selected(model), "0x000100"); // most missing
  type(model, "W");
  EXPECT_EQ(selected(model), "0x000163"); // most rewinds
  type(model, "I");
  EXPECT_EQ(selected(model), "0x000100"); // fewest
  type(model, "WM");
  EXPECT_EQ(selected(model), "0x000100") << "most lost";
  for (int i = 0; i < 20 && selected(model) != "0x000163"; i++)
    type(model, ">");
  EXPECT_EQ(selected(model), "0x000163") << "rewinds are to the right of losses";
}

// Whatever columns streams have, a screen that is wide enough shows them.
TEST(Watch, ATableHasAllColumns) {
  Model model = busy_model();
  const std::string head = line_with(text_of(model, {400, 40}), "SOURCE");
  size_t shown = 0;
  for (const report::StreamColumn &one : report::stream_columns()) {
    const bool page_only = !one.value || one.column.format == report::Format::Number;
    const std::string heading = one.column.key == "lost_before" ? "LOST" : heading_of(one.column);
    EXPECT_EQ(has(head, " " + heading), !page_only && one.column.key != "src") << one.column.key;
    shown += !page_only;
  }
  const auto keys = number_columns();
  EXPECT_EQ(keys.front(), "lost_before");
  EXPECT_EQ(keys.size(), shown + 2 - 6) << "all but addresses, QPs, kind and transport";
}

TEST(Watch, SortMenu) {
  Model model = model_of(many(100));
  type(model, "s");
  EXPECT_TRUE(has(text_of(model), "SORT BY"));
  EXPECT_TRUE(has(looking(model, Style::Selected), report::kTrouble));
  for (int i = 0; i < 50 && !has(looking(model, Style::Selected), " rewinds  "); i++)
    model.press({Key::Down});
  model.press({Key::Enter});
  EXPECT_EQ(selected(model), "0x000163");
}

TEST(Watch, FilterKeepsStreamsWithAllWords) {
  Model model = model_of(many(100));
  type(model, "/0x00012");
  EXPECT_TRUE(has(text_of(model), "16 of 100 streams")) << text_of(model);
  EXPECT_TRUE(has(text_of(model), "Filter: 0x00012"));
  type(model, " RESPONSE");
  EXPECT_TRUE(has(text_of(model), "0 of 100 streams"));
  EXPECT_TRUE(has(text_of(model), "no stream has all of"));
  for (int i = 0; i < 9; i++)
    model.press({Key::Backspace});
  model.press({Key::Enter});
  EXPECT_TRUE(has(text_of(model), "16 of 100 streams"));
  model.press({Key::Escape});
  EXPECT_TRUE(has(text_of(model), " 100 streams"));
  EXPECT_FALSE(model.quit());
  model.press({Key::Escape});
  EXPECT_TRUE(model.quit());
}

// `q` is a letter there.
TEST(Watch, FilterAcceptsAllCharacters) {
  Model model = model_of(many(3));
  type(model, "/q");
  EXPECT_FALSE(model.quit());
  EXPECT_TRUE(has(text_of(model), "Filter: q"));
}

TEST(Watch, SelectionStaysWithItsStream) {
  Model model = model_of(many(100));
  text_of(model);
  for (int i = 0; i < 5; i++)
    model.press({Key::Down});
  EXPECT_EQ(selected(model), "0x000105");
  type(model, "I");
  EXPECT_EQ(selected(model), "0x000105");
  Snapshot later = many(100, 2'000'000'000);
  std::reverse(later.streams.begin(), later.streams.end());
  model.update(0, reading_of(later));
  EXPECT_EQ(selected(model), "0x000105");
  model.press({Key::Home});
  EXPECT_EQ(selected(model), "0x000163");
  model.press({Key::End});
  EXPECT_EQ(selected(model), "0x000100");
}

// Gone from the table: the one in its place is selected.
TEST(Watch, SelectionOfAForgottenStream) {
  Model model = model_of(many(10));
  text_of(model);
  model.press({Key::Down});
  EXPECT_EQ(selected(model), "0x000101");
  Snapshot later = many(10, 2'000'000'000);
  later.streams.erase(later.streams.begin() + 1);
  model.update(0, reading_of(later));
  EXPECT_EQ(selected(model), "0x000102");
}

TEST(Watch, ScrollsWithTheSelection) {
  Model model = model_of(many(100'000));
  text_of(model);
  for (int i = 0; i < 3; i++)
    model.press({Key::PageDown});
  const std::string text = text_of(model);
  EXPECT_TRUE(has(text, selected(model))) << text;
  EXPECT_FALSE(has(text, "0x000100 "));
  model.press({Key::End});
  EXPECT_EQ(selected(model), "0x01879f");
}

TEST(Watch, DetailHasAllCountersAndItsEvents) {
  Model model = busy_model();
  type(model, "/192.0.2.1 17");
  model.press({Key::Enter});
  model.press({Key::Enter});
  const std::string text = text_of(model, kLarge);
  EXPECT_TRUE(has(text, "192.0.2.1 -> 192.0.2.2  QP 0x000011 request")) << text;
  for (const char *counter : {"GAPS", "SKIPPED", "FILLED", "MISSING", "DUPLICATES", "REWINDS",
                              "REORDERED", "JUMPED", "CE", "HOLES FORGOTTEN"})
    EXPECT_NE(line_with(text, counter), "") << counter;
  EXPECT_TRUE(has(text, "gap         3 PSNs 16777215..1")) << text;
  EXPECT_FALSE(has(text, "RNR NAK   ")) << "another stream's";
  model.press({Key::Escape});
  EXPECT_TRUE(has(text_of(model), "packets/s"));
  EXPECT_FALSE(model.quit());
}

TEST(Watch, EventsOfThePort) {
  Model model = busy_model();
  type(model, "e");
  const std::string text = text_of(model, kLarge);
  EXPECT_TRUE(has(text, "EVENTS  9, newest first")) << text;
  EXPECT_TRUE(has(text, "RNR NAK     QP 0x000012 response  timer 0.64 ms at PSN 2")) << text;
}

TEST(Watch, EventListIsLimitedAndSaysSo) {
  Model model = busy_model();
  Reading reading = reading_of(a_second_later(busy_port()));
  reading.events.assign(PortView::kEvents, one_event_of_each()[0]);
  model.update(0, reading);
  type(model, "e");
  EXPECT_TRUE(has(text_of(model, kLarge), "9 older ones are not")) << text_of(model, kLarge);
}

TEST(Watch, ShowsWhyThereAreNoEvents) {
  Model model(Options{});
  model.add_port("eth1", "native", "another process is reading the events");
  model.update(0, reading_of(busy_port()));
  type(model, "e");
  EXPECT_TRUE(has(text_of(model), "no events (e: why)"));
  EXPECT_TRUE(has(text_of(model), "another process is reading"));
}

TEST(Watch, OverflowIsHighlightedAndHiddenWhenZero) {
  Model model = busy_model();
  EXPECT_TRUE(has(looking(model, Style::Alarm, kLarge), "OVERFLOW  streams 4,203  events 123,456"))
      << looking(model, Style::Alarm, kLarge);
  Snapshot quiet = busy_port();
  quiet.totals.streams_full = quiet.totals.streams_contended = quiet.totals.streams_forgotten = 0;
  quiet.totals.events_dropped = quiet.totals.events_limited = 0;
  Model other = model_of(quiet);
  EXPECT_FALSE(has(text_of(other), "OVERFLOW"));
}

TEST(Watch, RulesWithTheirCounters) {
  Model model = busy_model();
  const std::string line = line_with(text_of(model, kLarge), "every 5");
  EXPECT_TRUE(has(line, "2,000") && has(line, "400") && has(line, "200,000")) << line;
  type(model, "r");
  EXPECT_TRUE(has(text_of(model), "all ce"));
}

TEST(Watch, JobWithItsLateSteps) {
  Model model = busy_model();
  type(model, "j");
  EXPECT_TRUE(has(text_of(model), "attach IF --job"));
  Reading reading = reading_of(busy_port());
  reading.job = std::make_shared<const LiveJob>(test::late_ring());
  model.update(0, reading);
  const std::string text = text_of(model);
  EXPECT_TRUE(has(text, "ring of 3 ranks, 112 steps: one each 50.0 ms, 20 % of it exchange"));
  EXPECT_TRUE(has(text, "192.0.2.2 is late (late start), by 9.00 ms in 2 steps from step 110"));
  EXPECT_TRUE(has(text, "20.0 ms newest, 10.0 ms median")) << text;
  EXPECT_TRUE(has(text, "2 ranks sent to 192.0.2.1 within 10"));
  const std::string line = line_with(text, "step 111");
  EXPECT_TRUE(has(line, "20.0 ms") && has(line, "192.0.2.2 late by 9.00 ms")) << line;
}

// Left and Right show the rest of what is wider than the screen, heading and all.
TEST(Watch, RulesScrollSideways) {
  Model model(Options{});
  model.add_port("eth1", "native");
  Reading reading = reading_of(busy_port());
  reading.rules = {{7, "dest-qp 0x100-0x1ff probability 1% drop seed 2937157439", "", 1000, 10},
                   {8, "all ce", "", 0, 0}};
  model.update(0, reading);
  type(model, "r");
  const Size size{80, 5};
  const std::string title =
      " xdp-roce watch  eth1  native                             every 0.5 s  22:13:25\n";
  const std::string keys = " q quit  ? help  Esc back  arrows scroll\n";
  const std::string unshifted =
      title +
      "RULE       MATCHED        ACTED       PPM  WHAT\n"
      "   7         1,000           10    10,000  dest-qp 0x100-0x1ff probability 1% d~\n"
      "   8             0            0         -  all ce\n" +
      keys;
  EXPECT_EQ(unshifted, text_of(model, size));
  model.press({Key::Left});
  EXPECT_EQ(unshifted, text_of(model, size)) << "there is nothing to the left";
  model.press({Key::Right});
  EXPECT_EQ(title +
                "   MATCHED        ACTED       PPM  WHAT\n"
                "     1,000           10    10,000  dest-qp 0x100-0x1ff probability 1% drop seed~\n"
                "         0            0         -  all ce\n" +
                keys,
            text_of(model, size));
  const std::string end =
      title +
      "        ACTED       PPM  WHAT\n"
      "           10    10,000  dest-qp 0x100-0x1ff probability 1% drop seed 2937157439\n"
      "            0         -  all ce\n" +
      keys;
  for (int i = 0; i < 5; i++)
    model.press({Key::Right});
  EXPECT_EQ(end, text_of(model, size)) << "no further than its end";
  model.press({Key::Left});
  EXPECT_TRUE(has(text_of(model, size), "\n MATCHED        ACTED"));
  type(model, "er");
  EXPECT_EQ(unshifted, text_of(model, size)) << "each page begins at its left";
}

TEST(Watch, EventsScrollSideways) {
  Model model = busy_model();
  type(model, "e");
  EXPECT_FALSE(has(text_of(model), "2001:db8::2 -> 2001:db8::1\n"));
  for (int i = 0; i < 9; i++) {
    model.press({Key::Right});
    text_of(model);
  }
  EXPECT_TRUE(has(text_of(model), "2001:db8::2 -> 2001:db8::1\n")) << text_of(model);
}

TEST(Watch, DetailScrollsSideways) {
  Snapshot snapshot = many(1);
  inet_pton(AF_INET6, "2001:db8:1111:2222:3333:4444:5555:6666", snapshot.streams[0].key.src);
  inet_pton(AF_INET6, "2001:db8:1111:2222:3333:4444:5555:7777", snapshot.streams[0].key.dst);
  Model model = model_of(snapshot);
  text_of(model);
  model.press({Key::Enter});
  EXPECT_TRUE(has(text_of(model), "\n2001:db8:1111:2222:3333:4444:5555:6666 -> 2001:db8:"));
  EXPECT_FALSE(has(text_of(model), "0x000100 request"));
  for (int i = 0; i < 3; i++)
    model.press({Key::Right});
  EXPECT_TRUE(has(text_of(model), ":7777  QP 0x000100 request\n")) << text_of(model);
}

TEST(Watch, ZeroCountsFromNow) {
  Model model = busy_model();
  type(model, "z");
  std::string text = text_of(model, kLarge);
  EXPECT_TRUE(has(text, "since 22:13:26")) << text;
  EXPECT_FALSE(has(text, "OVERFLOW"));
  Snapshot later = a_second_later(a_second_later(busy_port()));
  later.streams.pop_back();
  later.streams[1].counter_low[ROCE_FILLED] += 1; // a hole that is older
  model.update(0, reading_of(later));
  text = text_of(model, kLarge);
  EXPECT_TRUE(has(line_with(text, "RoCE "), "RoCE 812,402 packets")) << text;
  type(model, "z");
  text = text_of(model, kLarge);
  EXPECT_TRUE(has(text, "OVERFLOW"));
}

// No counter of less than none.
TEST(Watch, ZeroWithAHoleFilledSince) {
  Model model = busy_model();
  type(model, "z");
  Snapshot later = a_second_later(a_second_later(busy_port()));
  later.streams[1].counter_low[ROCE_FILLED] += 1;
  later.streams[1].packets += 1;
  model.update(0, reading_of(later));
  EXPECT_FALSE(has(text_of(model, kLarge), "18,446,744"));
}

TEST(Watch, PauseKeepsTheScreenAndLosesNoEvent) {
  Model model = busy_model();
  type(model, "e");
  const std::string before = text_of(model, kLarge);
  type(model, "p");
  EXPECT_TRUE(has(text_of(model), "PAUSED"));
  for (int i = 0; i < 3; i++) {
    Reading reading = reading_of(a_second_later(busy_port()));
    reading.events = {one_event_of_each()[0]};
    model.update(0, reading);
  }
  EXPECT_TRUE(has(text_of(model, kLarge), "EVENTS  9,"));
  type(model, " ");
  EXPECT_TRUE(has(text_of(model, kLarge), "EVENTS  12,"));
}

// The newest of a port are kept; older ones are counted, however many come at once.
TEST(Watch, PauseLimitsKeptEvents) {
  Model model = busy_model(); // 9 events
  type(model, "ep");
  const auto come = [&model](size_t count, size_t which) {
    Reading reading = reading_of(a_second_later(busy_port()));
    reading.events.assign(count, one_event_of_each()[which]);
    model.update(0, std::move(reading));
  };
  const size_t gap = ROCE_EVENT_GAP, other = ROCE_EVENT_RNR_NAK;
  come(PortView::kEvents + 5, gap);
  for (int i = 0; i < 3; i++)
    come(1000, gap);
  come(0, gap);
  come(1, other);
  EXPECT_TRUE(has(text_of(model, kLarge), "EVENTS  9,"));
  type(model, "p");
  const std::string text = text_of(model, kLarge);
  EXPECT_TRUE(has(text, "EVENTS  4096,")) << text;
  EXPECT_TRUE(has(text, " 3,015 older ones are not")) << text; // 9 + 5 + 3 * 1000 + 1
  EXPECT_TRUE(has(text, "RNR NAK     QP")) << "the last that came is the newest: " << text;
}

TEST(Watch, MergedReadingsAreLimited) {
  std::optional<Reading> held;
  for (uint64_t second = 1; second <= 10; second++) {
    Reading reading = reading_of(busy_port());
    reading.realtime_ns = second;
    reading.events.assign(1000, one_event_of_each()[ROCE_EVENT_GAP]);
    reading.events.back().time_ns = second;
    merge_readings(held, std::move(reading));
    EXPECT_EQ(held->events.size() + held->events_forgotten, 1000 * second);
    EXPECT_LE(held->events.size(), PortView::kEvents);
    EXPECT_EQ(held->events.back().time_ns, second);
    EXPECT_EQ(held->realtime_ns, second);
  }
  EXPECT_EQ(held->events[PortView::kEvents - 1001].time_ns, 9u); // oldest first
}

TEST(Watch, SeveralPorts) {
  Model model(Options{});
  model.add_port("eth1");
  model.add_port("eth2");
  model.update(0, reading_of(busy_port()));
  model.update(1, reading_of(many(7)));
  EXPECT_TRUE(has(text_of(model), "1:eth1"));
  EXPECT_TRUE(has(text_of(model), "2:eth2"));
  EXPECT_TRUE(has(text_of(model), "watch  eth1"));
  model.press({Key::Tab});
  EXPECT_TRUE(has(text_of(model), "watch  eth2  7 streams")) << text_of(model);
  type(model, "1");
  EXPECT_TRUE(has(text_of(model), "watch  eth1"));
  type(model, "9");
  EXPECT_TRUE(has(text_of(model), "watch  eth1"));
}

TEST(Watch, OneOfSeveralPortsIsDetached) {
  Model model(Options{});
  model.add_port("eth1");
  model.add_port("eth2");
  for (const uint64_t packets : {1000u, 2000u}) {
    Snapshot port = busy_port();
    port.time_ns += packets * 1'000'000;
    port.opcodes[ROCE_RC_SEND_ONLY].packets[ROCE_ECN_ECT0] += packets;
    model.update(0, reading_of(port));
    model.update(1, reading_of(port));
  }
  EXPECT_TRUE(has(text_of(model), "1:eth1 1,000")) << text_of(model);
  model.mark_gone(0, "it was detached");
  const std::string text = text_of(model);
  EXPECT_TRUE(has(text, "1:eth1 gone  2:eth2 1,000")) << text;
  EXPECT_TRUE(has(text, "watch  eth1") && has(text, "GONE")) << text;
  EXPECT_TRUE(has(text, "it was detached; last read: RoCE ")) << text;
  model.press({Key::Tab});
  EXPECT_FALSE(has(text_of(model), "GONE")) << text_of(model);
  // A reading from before, held back while the picture was paused, has no rates.
  type(model, "p");
  Snapshot last = busy_port();
  last.time_ns += 3'000'000'000;
  model.update(1, reading_of(last));
  model.mark_gone(1, "it was detached");
  type(model, "p");
  EXPECT_TRUE(has(text_of(model), "RoCE ")) << text_of(model);
  EXPECT_FALSE(has(text_of(model), "1,000/s")) << text_of(model);
}

TEST(Watch, HelpListsTheKeys) {
  Model model = busy_model();
  type(model, "?");
  EXPECT_TRUE(has(text_of(model), "quit; Esc goes back"));
  EXPECT_FALSE(has(text_of(model), "~")) << "cut in 80 columns: " << text_of(model);
  type(model, "q");
  EXPECT_TRUE(model.quit());
}

TEST(Watch, KeysBeforeTheFirstReading) {
  Model model(Options{});
  model.add_port("eth1");
  for (const Key key :
       {Key::Up, Key::Down, Key::Left, Key::Right, Key::End, Key::Enter, Key::PageDown, Key::Tab,
        Key::F6, Key::Enter, Key::F4, Key::Enter, Key::F1, Key::Escape})
    model.press({key});
  type(model, "zprWI<>rehs");
  EXPECT_TRUE(has(text_of(model), "reading the port"));
  type(model, "q");
  EXPECT_TRUE(model.quit());
}

// Each opcode is counted by exactly one meter.
TEST(WatchMeters, ByClassOfOpcode) {
  const auto meter_of = [](unsigned opcode) {
    Snapshot s;
    s.opcodes[opcode].packets[0] = 1;
    const auto totals = meter_totals(s);
    Meter found = Meter::End;
    for (int m = 0; m <= static_cast<int>(Meter::OtherRoce); m++)
      if (totals.of(static_cast<Meter>(m)).packets) {
        EXPECT_EQ(found, Meter::End) << opcode << " is in two";
        found = static_cast<Meter>(m);
      }
    return found;
  };
  for (const unsigned transport : {ROCE_RC, ROCE_XRC, ROCE_RD}) {
    const auto expect = [&](unsigned from, unsigned to, Meter meter) {
      for (unsigned op = from; op <= to; op++)
        EXPECT_EQ(meter_of(transport | op), meter) << transport << " " << op;
    };
    expect(0x00, 0x0b, Meter::Data);
    expect(0x0c, 0x0c, Meter::ReadRequest);
    expect(0x0d, 0x10, Meter::ReadResponse);
    expect(0x11, 0x11, Meter::Ack);
    expect(0x12, 0x14, Meter::Atomic);
  }
  EXPECT_EQ(meter_of(ROCE_RC_ATOMIC_WRITE), Meter::Atomic);
  EXPECT_EQ(meter_of(ROCE_RC_SEND_ONLY_WITH_INVALIDATE), Meter::Data);
  EXPECT_EQ(meter_of(ROCE_UD_SEND_ONLY), Meter::Data);
  EXPECT_EQ(meter_of(ROCE_OPCODE_CNP), Meter::Cnp);
  for (const unsigned other : {unsigned{ROCE_RC_FLUSH}, unsigned{ROCE_RD_RESYNC}, 0x2cu, 0xc0u})
    EXPECT_EQ(meter_of(other), Meter::OtherRoce) << other; // 0x2c: UC has no READ
}

TEST(WatchText, WidthOfWideCharacters) {
  EXPECT_EQ(columns_of("abc"), 3u);
  EXPECT_EQ(columns_of("▁█"), 2u);
  EXPECT_EQ(columns_of("漢字"), 4u);
  EXPECT_EQ(columns_of("e\u0301"), 1u);
  EXPECT_EQ(cut("漢字", 3), "漢~");
  EXPECT_EQ(to_left("漢字", 6), "漢字  ");
  EXPECT_EQ(columns_of(to_right("漢字", 3)), 3u);
  EXPECT_EQ(from_column("漢字x", 2), "字x");
  EXPECT_EQ(from_column("漢字x", 3), " x");
  EXPECT_EQ(from_column("e\u0301x", 1), "x");
  EXPECT_EQ(from_column("ab", 5), "");
  EXPECT_EQ(cut("ab   ", 4), "ab  ") << "nothing but spaces is lost";
}

TEST(WatchText, NamesCannotControlTheTerminal) {
  EXPECT_EQ(drawable("a\033[31m\xff\n", true), "a?[31m??");
  EXPECT_EQ(drawable("漢x", false), "?x");
  EXPECT_EQ(drawable("漢x", true), "漢x");
}

TEST(WatchHistory, Sparkline) {
  History history;
  EXPECT_EQ(sparkline(history, 3, true), "   ");
  for (const double value : {0.0, 1.0, 4.0, 8.0})
    history.add(value);
  EXPECT_EQ(sparkline(history, 5, true), "  ▁▄█");
  EXPECT_EQ(sparkline(history, 2, false), "=#");
  for (size_t i = 0; i < 2 * History::kKept; i++)
    history.add(static_cast<double>(i + 1));
  EXPECT_EQ(history.size(), History::kKept);
  EXPECT_EQ(history.at(0), 2.0 * History::kKept);
  EXPECT_EQ(history.at(History::kKept - 1), History::kKept + 1.0);
}

// A wide screen has the rates of each rule in the last second.
TEST(Watch, RatesOfRules) {
  Model model = busy_model();
  const std::string wide = text_of(model, {200, 40});
  const std::string heading = line_with(wide, "MATCHED"), rule = line_with(wide, "every 5 drop");
  EXPECT_TRUE(has(heading, "PKT/S    BIT/S  WHAT")) << heading;
  EXPECT_TRUE(has(rule, "1,000   2.00 M  opcode ack")) << rule;
  EXPECT_FALSE(has(text_of(model, {120, 40}), "PKT/S    BIT/S  WHAT"));
}

} // namespace
} // namespace watch_test
