// SPDX-License-Identifier: Apache-2.0
// Reports compared with golden files, and properties of all reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "golden.h"
#include "report/checks.h"
#include "report/compare.h"
#include "report/json.h"
#include "report/latency.h"
#include "report/reports.h"
#include "report/runs.h"
#include "report/sections.h"
#include "report/stream_columns.h"
#include "report/text.h"
#include "report/wire.h"
#include "snapshots.h"

namespace report_test {
namespace {

using namespace xr;
using namespace xr::report;
using nlohmann::json;

void expect_goldens(const std::string &name, const Document &document) {
  expect_golden(name + ".txt", to_text(document));
  expect_golden(name + ".json", to_json(document));
}

WirePortReport wire_port(const std::string &name, const std::string &peer, bool link) {
  auto counts = std::make_shared<WirePortCounts>();
  counts->version = WirePortCounts::kVersion;
  counts->memory_frames = 16'384;
  counts->memory_free = 12'288;
  counts->memory_free_least = 11'000;
  counts->in.taken = link ? 250'000 : 3'000;
  counts->in.taken_bytes = counts->in.taken * 1082;
  counts->in.left = counts->in.taken - 5;
  counts->in.left_bytes = counts->in.left * 1082;
  counts->in.holding = 5;
  counts->rule_ids[1] = 7;
  counts->rules[1].frames = counts->in.taken;
  counts->rules[1].late.add(1'500);
  counts->rule_ids[2] = 7; // removed
  counts->rule_removed[2] = 1;
  counts->rules[2].frames = 60;
  if (link) {
    counts->link.started = 1;
    counts->link.updated = 2'000'000'001;
    counts->link.busy_ns = 1'500'000'000;
    counts->link.backlog_most = 54'100;
    counts->link.delay = 100'000;
    counts->link.late.add(2'000, 3);
    counts->link.late.add(10'000);
    LinkClassCounts &zero = counts->link.classes[0];
    zero.frames_in = 250'000;
    zero.frames_out = 249'990;
    zero.drops[static_cast<unsigned>(LinkDrop::Buffer)] = 10;
  } else {
    counts->in.no_buffer = 12;
  }
  return {.ifname = name,
          .peer = peer,
          .xdp_mode = "native",
          .queues = 2,
          .link = link ? "rate 1gbit delay 100us" : "",
          .counts = counts};
}

// A link on one port only, losses of the other one.
TEST(ReportGolden, Wire) {
  WireReport report;
  report.seconds = 2.5;
  report.threads = 2;
  report.ports = {wire_port("ens1", "ens2", false), wire_port("ens2", "ens1", true)};
  expect_goldens("wire", wire_document(report));
  expect_goldens("link", link_document(report.ports[1]));
}

// No process has counted: everything is 0, and text is short.
TEST(ReportGolden, WireWithoutCounts) {
  WireReport report;
  report.ports[0].ifname = report.ports[1].peer = "ens1";
  report.ports[1].ifname = report.ports[0].peer = "ens2";
  const auto got = json::parse(to_json(wire_document(report)));
  EXPECT_EQ(got["ports"].size(), 2U);
  EXPECT_EQ(got["ports"][1]["name"], "ens2");
  EXPECT_EQ(got["ports"][1]["in"]["taken"], 0);
  EXPECT_EQ(got["rules"], json::array());
  EXPECT_EQ(to_text(wire_document(report)).find("LOST"), std::string::npos);
}

// Two streams by hand: one without quantiles; latencies below 0; text and JSON.
TEST(ReportGolden, Stamps) {
  LatencyReport latency;
  latency.total = {.frames = 1500, .lost = 3, .reordered = 2, .timed = 1500, .min = -1250};
  latency.total.max = 9'000'500;
  latency.total.mean = 2000.25;
  latency.total.quantiles = true;
  latency.total.p50 = 1900;
  latency.total.p99 = 8000;
  latency.total.p999 = 9'000'000;
  latency.total.jitter = 120.5;
  LatencyRow row = latency.total;
  row.src = {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000201U)};
  row.dst = {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000202U)};
  row.dest_qp = 17;
  row.run = 1'700'000'000'000'000'000;
  row.last = 1502;
  row.jitter_rfc3550 = 99.9;
  latency.streams.push_back(row);
  row.dest_qp = 18;
  row.quantiles = false;
  row.timed = 1;
  latency.streams.push_back(row);
  latency.negative = 7;
  latency.tai_offset_s = 37;
  Document document{.title = "stamps"};
  add_latency(document, latency);
  expect_goldens("stamps", document);
  latency.clock_offset_ns = -500;
  Document corrected{.title = "stamps"};
  add_latency(corrected, latency);
  EXPECT_NE(to_text(corrected).find("-500 ns are subtracted"), std::string::npos);
  EXPECT_NE(to_json(corrected).find("\"clock_offset_ns\":-500"), std::string::npos);
}

// Three places, both directions, one leg without a common clock; everything that can be found.
TEST(ReportGolden, Compare) {
  Comparison c;
  c.window_ns = 1'000'000'000;
  for (const char *name : {"before.pcap", "ens1", "after.pcap"}) {
    ComparedPlace place;
    place.name = name;
    place.port = place.name == "ens1";
    place.frames = 1200;
    place.packets = 1100;
    place.naks = 3;
    place.first_ns = 1'700'000'000'000'000'000;
    place.last_ns = place.first_ns + 2'500'000'000;
    c.places.push_back(place);
  }
  c.places[1].capture_lost = 5;
  c.places[2].truncated = true;
  ComparedCounts counts{.seen_from = 1000, .seen_to = 998, .matched = 990, .lost = 9};
  counts.duplicated = 2;
  counts.reordered = 4;
  counts.ce = 77;
  counts.corrupted = 1;
  counts.dscp = 12;
  counts.only_to = 5;
  counts.only_to_bad = 1;
  counts.outside_from = 1;
  counts.outside_to = 1;
  const LatencySummary latency{990, 5000, 91'250, 5500.5, true, 5100, 40'000};
  for (uint32_t from = 0; from < 2; from++) {
    ComparedLeg leg;
    leg.from = from;
    leg.clock = from ? ComparedLeg::Clock::Unknown : ComparedLeg::Clock::BothWays;
    leg.offset_ns = from ? 0 : -1'250'500;
    leg.anchors = 500;
    leg.span_ns = 2'400'000'000;
    leg.moment_ns = 25'000'000;
    leg.ways[0] = {counts, latency};
    leg.ways[1].counts = {.seen_from = 50, .seen_to = 50, .matched = 50};
    leg.ways[1].latency = latency;
    leg.over_time.push_back({25'000'000, false, 990, 9, 77, latency});
    leg.decided_early = from ? 0 : 17;
    leg.least_window_ns = 20'000'000;
    c.legs.push_back(leg);

    ComparedStream row;
    row.key.src[2] = row.key.dst[2] = ROCE_MAPPED_PREFIX;
    row.key.src[3] = roce_swap32(0xc0000201U);
    row.key.dst[3] = roce_swap32(0xc0000202U);
    row.key.qp_kind = 17 | ROCE_KEY_IPV4;
    row.from = from;
    row.to = from + 1;
    row.counts = counts;
    row.latency = latency;
    row.last = 2;
    row.lost_before = 3;
    row.lost_after = 2;
    row.lost_from = {0, 1};
    c.streams.push_back(row);
    std::swap(row.key.src[3], row.key.dst[3]);
    row.key.qp_kind |= ROCE_KIND_RESPONSE << ROCE_KIND_SHIFT;
    std::swap(row.from, row.to);
    row.counts = {.seen_from = 50, .seen_to = 50, .matched = 50};
    row.latency = {};
    row.first = 2;
    row.last = 0;
    row.lost_before = row.lost_after = 0;
    row.lost_from.clear();
    row.assumed = true;
    c.streams.push_back(row);
  }
  c.streams[3].lost_from = c.streams[1].lost_from = {2};
  expect_goldens("compare", compare_report(c));
  EXPECT_EQ(json::parse(to_json(compare_report(c, 1)))["streams"].size(), 1u);
}

// The two ports of one bridge: no verdict, in words and as null.
TEST(ReportGolden, CompareNothingInCommon) {
  Comparison c;
  c.window_ns = 1'000'000'000;
  for (const char *name : {"left", "right"}) {
    ComparedPlace place;
    place.name = name;
    place.port = true;
    place.frames = place.packets = 100;
    place.last_ns = 1'000'000'000;
    c.places.push_back(place);
  }
  ComparedLeg leg;
  leg.clock = ComparedLeg::Clock::Given;
  leg.apart = ComparedLeg::Apart::Directions;
  leg.ways[0].counts = {.seen_from = 100, .seen_to = 100, .outside_from = 100, .outside_to = 100};
  c.legs.push_back(leg);
  ComparedStream row;
  row.key.src[2] = row.key.dst[2] = ROCE_MAPPED_PREFIX;
  row.key.src[3] = roce_swap32(0xc0000201U);
  row.key.dst[3] = roce_swap32(0xc0000202U);
  row.key.qp_kind = 17 | ROCE_KEY_IPV4;
  row.to = 1;
  row.counts = {.seen_from = 100, .outside_from = 100};
  c.streams.push_back(row);
  expect_goldens("compare_apart", compare_report(c));
}

TEST(Report, AStormThatLapsedIsAnError) {
  PfcReport report;
  report.storm = true;
  report.quanta = {0xffff};
  report.pause_ns = 3'355'392;
  report.gap_ns.add(1'342'000);
  EXPECT_TRUE(check_storm(report).ok());
  report.gap_ns.add(5'200'000);
  report.lapsed = 1;
  EXPECT_EQ(check_storm(report).error().message,
            "the storm lapsed: 1 of its gaps was longer than a pause, the largest 5200.0 us, and a "
            "frame pauses for 3355.4 us");
  report.storm = false; // at an interval, gaps are intended
  EXPECT_TRUE(check_storm(report).ok());
}

TEST(ReportGolden, PfcStorm) {
  SendReport report;
  report.ifname = "eth1";
  report.kind = SendReport::Kind::Pfc;
  report.seconds = 2;
  report.finished = true;
  PfcReport pfc;
  pfc.storm = true;
  pfc.priorities = {3, 4};
  pfc.quanta = {65535, 1000};
  pfc.enable = 0x18;
  pfc.interval_ns = 134'215;
  pfc.pause_ns = 335'539;
  for (const uint64_t ns : {134'215, 134'300, 400'000})
    pfc.gap_ns.add(ns);
  pfc.late = 1;
  pfc.lapsed = 1;
  pfc.xons = 1;
  report.pfc = pfc;
  expect_goldens("pfc_storm", send_document(report));
}

// Live frames: which engine, and what the port did not take.
TEST(ReportGolden, SendLive) {
  SendReport report;
  report.ifname = "eth1";
  report.kind = SendReport::Kind::Open;
  report.seed = 7;
  report.seconds = 2;
  report.finished = true;
  report.live = true;
  report.live_batch = 64;
  report.engine_why = "asked for";
  report.not_taken = 40;
  report.queues = 2;
  report.counts.packets = report.engine.sent = 10'000'000;
  report.counts.bytes = report.engine.sent_bytes = 10'820'000'000;
  report.engine.port_sent = 9'999'960;
  report.engine.port_drops = 40;
  report.expected = report.done = 10'000'000;
  expect_goldens("send_live", send_document(report));
}

// `naks` of a responder are of all causes.
TEST(Report, NaksOfAResponder) {
  RespondReport report;
  report.counts.naks = 3;
  report.counts.out_of_bounds = 3;
  const std::string text = to_text(respond_document(report));
  EXPECT_NE(text.find("NAKs"), std::string::npos) << text;
  EXPECT_EQ(text.find("PSN sequence error"), std::string::npos) << text;
}

TEST(ReportGolden, Checks) {
  using Status = SetupCheck::Status;
  Document document;
  add_checks(document,
             {{"data_ect", Status::Ok, "all 80 data packets are ECT", "all", "marks", "the host"},
              {"rtt", Status::Unknown, "QP pairs were not timed", "ten", "queues", "the switch"},
              {"icrc", Status::Fail, "24 of 2700 are wrong", "none", "loss", "the cable", {372}}},
             {});
  expect_goldens("checks", document);
}

TEST(ReportGolden, Empty) { expect_goldens("empty", analyze_report(empty_snapshot())); }

TEST(ReportGolden, Capture) {
  const Snapshot snapshot = busy_capture();
  expect_goldens("capture", analyze_report(snapshot));
}

TEST(ReportGolden, CountersOfAPort) {
  const Snapshot snapshot = busy_port();
  expect_goldens("counters", counters_report({snapshot}));
}

TEST(ReportGolden, StreamsOfAPort) {
  const Snapshot snapshot = busy_port();
  expect_goldens("streams", streams_report({snapshot}, {"packets", 3}));
}

TEST(ReportGolden, RatesOfAPort) {
  setenv("TZ", "UTC", 1);
  const Snapshot before = busy_port(), now = a_second_later(before);
  expect_goldens("counters_rates", counters_report({now, &before, kTime}));
  expect_goldens("streams_rates", streams_report({now, &before, kTime}));
}

TEST(ReportGolden, NotTracked) {
  Snapshot snapshot = busy_port();
  snapshot.streams.clear();
  snapshot.tracked = false;
  expect_goldens("not_tracked", streams_report({snapshot}));
}

TEST(ReportGolden, Colour) {
  const Snapshot snapshot = busy_port();
  TextStyle style;
  style.colour = true;
  std::string text;
  write_text(counters_report({snapshot}), style, [&text](std::string_view piece) {
    text += piece;
    return true;
  });
  expect_golden("counters_colour.txt", text);
}

TEST(ReportGolden, Events) {
  setenv("TZ", "UTC", 1);
  std::string text, lines;
  for (const roce_event &event : one_event_of_each()) {
    const Document document = event_report(event, kTime + event.time_ns);
    text += to_text(document);
    lines += to_json(document, JsonStyle::Line);
  }
  expect_golden("events.txt", text);
  expect_golden("events.json", lines);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), ROCE_EVENT_TYPES + 1);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), ROCE_EVENT_TYPES + 1);
}

// The contract's keys, in shared/cli.md.
TEST(Report, JsonKeysAreStable) {
  const json report = json::parse(to_json(analyze_report(busy_capture())));
  const auto expect_keys = [](const json &object, const std::vector<std::string> &keys) {
    for (const std::string &key : keys)
      EXPECT_TRUE(object.contains(key)) << key;
  };
  expect_keys(report, {"schema", "source", "frames", "bytes", "opcodes", "ecn", "aeth", "icrc",
                       "streams", "overflow"});
  expect_keys(report["source"], {"kind", "name"});
  expect_keys(report["frames"],
              {"total", "rocev2", "rocev1", "cnp", "pfc", "other", "malformed", "fragment"});
  expect_keys(report["bytes"], {"total", "rocev2", "rocev1"});
  expect_keys(report["opcodes"][0], {"opcode", "name", "packets", "bytes"});
  expect_keys(report["ecn"], {"not_ect", "ect0", "ect1", "ce"});
  expect_keys(report["aeth"], {"ack", "rnr_nak", "nak_psn_sequence_error", "nak_invalid_request",
                               "nak_remote_access_error", "nak_remote_operational_error",
                               "nak_invalid_rd_request", "reserved"});
  expect_keys(report["icrc"], {"checked", "bad"});
  expect_keys(report["streams"][0],
              {"src",     "dst",     "dest_qp",    "src_qp",   "kind",      "transport",
               "packets", "bytes",   "first_psn",  "next_psn", "gaps",      "skipped",
               "filled",  "missing", "duplicates", "rewinds",  "reordered", "resyncs",
               "jumps",   "jumped",  "ce",         "cnps",     "messages",  "holes_forgotten"});
  expect_keys(report["overflow"], {"streams", "events"});
}

// The fields shown in colour: errors and signs of congestion, no others.
TEST(Report, TonesOfTheCounters) {
  using Keys = std::vector<std::string>;
  const auto alarms = [](const Document &document) {
    Keys keys;
    for (const Section &section : document.sections)
      if (const auto *group = std::get_if<Group>(&section.body))
        for (const Field &field : *group)
          if (field.column.tone == Tone::Alarm)
            keys.push_back(section.key + "." + field.column.key);
    std::sort(keys.begin(), keys.end());
    return keys;
  };
  const Keys both = {"aeth.nak_invalid_rd_request",
                     "aeth.nak_invalid_request",
                     "aeth.nak_psn_sequence_error",
                     "aeth.nak_remote_access_error",
                     "aeth.nak_remote_operational_error",
                     "aeth.reserved",
                     "aeth.rnr_nak",
                     "frames.malformed",
                     "icrc.bad"};
  Keys capture = both, port = both;
  capture.emplace_back("frames.cut");
  capture.emplace_back("frames.aeth_cut");
  for (const char *key :
       {"cnp_unknown_peer", "held_without_rules", "not_cloned", "not_forwarded", "not_held"})
    port.push_back(std::string("impaired.") + key);
  std::sort(capture.begin(), capture.end());
  std::sort(port.begin(), port.end());
  Document of_capture, of_port;
  const Snapshot captured = busy_capture(), counted = busy_port();
  add_counters(of_capture, {captured});
  add_counters(of_port, {counted});
  EXPECT_EQ(alarms(of_capture), capture);
  EXPECT_EQ(alarms(of_port), port);
}

// A capture of 54 bytes a frame has the BTH of an ACK, but not which it is.
TEST(Report, CountsAethsThatACaptureCut) {
  Snapshot s;
  s.opcodes[ROCE_RC_ACKNOWLEDGE] = {{5, 0, 0, 0}, 310};
  s.opcodes[ROCE_OPCODE_COUNT_V1 + ROCE_RC_ATOMIC_ACKNOWLEDGE] = {{2, 0, 0, 0}, 140};
  s.opcodes[ROCE_RC_RDMA_READ_RESPONSE_LAST] = {{9, 0, 0, 0}, 900};
  s.totals.aeth[ROCE_AETH_ACK] = 3;
  s.totals.aeth[ROCE_AETH_RNR_NAK] = 1;
  const auto frames = [](const Snapshot &of) {
    return json::parse(to_json(counters_report({of})))["frames"];
  };
  EXPECT_EQ(frames(s)["aeth_cut"], 3);
  EXPECT_NE(to_text(counters_report({s})).find("ACK or NAK: cut short"), std::string::npos);
  s.source = Snapshot::Source::Interface;
  EXPECT_FALSE(frames(s).contains("aeth_cut"));
}

TEST(Report, SumOfClassesIsTheTotal) {
  const json frames = json::parse(to_json(counters_report({busy_capture()})))["frames"];
  EXPECT_EQ(frames["total"], frames["rocev2"].get<uint64_t>() + frames["rocev1"].get<uint64_t>() +
                                 frames["pfc"].get<uint64_t>() + frames["other"].get<uint64_t>() +
                                 frames["malformed"].get<uint64_t>() +
                                 frames["fragment"].get<uint64_t>());
}

// The number in text: 1,234 or 0x0004d2 or 1234 or 0xd2.
bool appears(const std::string &text, uint64_t number) {
  for (const Format format : {Format::Count, Format::Number, Format::Qpn, Format::Opcode})
    if (text.find(format_value(number, format)) != std::string::npos)
      return true;
  return false;
}

void expect_numbers_in(const json &value, const std::string &text, const std::string &where) {
  // Sums of ecn_kinds, and the sentences' numbers with those that they leave out.
  if (where == "/ecn" || where == "/summary")
    return;
  if (value.is_structured()) {
    for (const auto &[key, item] : value.items())
      expect_numbers_in(item, text, where + "/" + key);
  } else if (value.is_number_unsigned() && value.get<uint64_t>() != 0) {
    EXPECT_TRUE(appears(text, value.get<uint64_t>())) << where << " = " << value;
  }
}

// Text leaves zeros out and nothing else.
TEST(Report, TextHasEveryNumberOfJson) {
  const Snapshot capture = busy_capture(), port = busy_port();
  for (const Document &document :
       {analyze_report(capture), counters_report({port}), streams_report({port})}) {
    json report = json::parse(to_json(document));
    for (const char *only_json : {"schema", "source", "tracked"})
      report.erase(only_json);
    if (report.contains("transports") && report["transports"].size() < 2)
      report.erase("transports");
    expect_numbers_in(report, to_text(document), "");
  }
}

TEST(Report, OverflowIsShownOnlyWhenThereIsSome) {
  Snapshot snapshot = busy_port();
  EXPECT_NE(to_text(counters_report({snapshot})).find("OVERFLOW"), std::string::npos);
  snapshot.totals.streams_full = snapshot.totals.streams_contended = 0;
  snapshot.totals.streams_forgotten = 0;
  snapshot.totals.events_dropped = snapshot.totals.events_limited = 0;
  EXPECT_EQ(to_text(counters_report({snapshot})).find("OVERFLOW"), std::string::npos);
}

TEST(Report, EveryNumericColumnSorts) {
  const Snapshot snapshot = busy_port();
  for (const std::string &key : stream_sort_keys()) {
    if (key == kTrouble) // an order of several columns: Summary.TroubleIsFirst
      continue;
    const json rows = json::parse(to_json(streams_report({snapshot}, {key})))["streams"];
    ASSERT_EQ(rows.size(), snapshot.streams.size());
    for (size_t i = 1; i < rows.size(); i++) {
      const auto number = [&](size_t row) {
        return rows[row][key].is_null() ? 0 : rows[row][key].get<uint64_t>();
      };
      EXPECT_GE(number(i - 1), number(i)) << key;
    }
  }
}

TEST(Report, LineStyleIsOneLine) {
  const std::string line = to_json(analyze_report(busy_capture()), JsonStyle::Line);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(json::parse(line), json::parse(to_json(analyze_report(busy_capture()))));
}

TEST(Report, WritersStopWhenTheSinkIsClosed) {
  const Snapshot snapshot = busy_port();
  const Document document = streams_report({snapshot});
  for (int pieces = 0; pieces < 20; pieces++) {
    int left = pieces, asked_after_the_end = 0;
    const Sink sink = [&](std::string_view) {
      asked_after_the_end += left < 0;
      return --left >= 0;
    };
    write_text(document, {}, sink);
    EXPECT_EQ(asked_after_the_end, 0);
    left = pieces;
    write_json(document, JsonStyle::Pretty, sink);
    EXPECT_EQ(asked_after_the_end, 0);
  }
}

// A file's name is the only text that comes from outside.
TEST(Report, NamesCannotControlTheTerminalOrBreakJson) {
  Snapshot snapshot = empty_snapshot();
  snapshot.name = "a\033[31m\"\xff\n.pcap";
  EXPECT_EQ(to_text(analyze_report(snapshot)).find('\033'), std::string::npos);
  EXPECT_TRUE(json::accept(to_json(analyze_report(snapshot))));
}

TEST(ReportFormat, Numbers) {
  EXPECT_EQ(format_value(uint64_t{0}, Format::Count), "0");
  EXPECT_EQ(format_value(uint64_t{999}, Format::Count), "999");
  EXPECT_EQ(format_value(uint64_t{1000}, Format::Count), "1,000");
  EXPECT_EQ(format_value(UINT64_MAX, Format::Count), "18,446,744,073,709,551,615");
  EXPECT_EQ(format_value(uint64_t{17}, Format::Qpn), "0x000011");
  EXPECT_EQ(format_value(0.25, Format::Rate), "0.2");
  EXPECT_EQ(format_value(1234567.5, Format::Rate), "1,234,568");
  EXPECT_EQ(format_value(0.0, Format::Scaled), "0");
  EXPECT_EQ(format_value(999.4, Format::Scaled), "999");
  EXPECT_EQ(format_value(999.6, Format::Scaled), "1.00 k");
  EXPECT_EQ(format_value(6.72e9, Format::Scaled), "6.72 G");
  EXPECT_EQ(format_value(99.96e9, Format::Scaled), "100 G");
  EXPECT_EQ(format_value(Value{}, Format::Count), "-");
}

} // namespace
} // namespace report_test
