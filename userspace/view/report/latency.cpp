// SPDX-License-Identifier: Apache-2.0
#include "report/latency.h"

#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "names/names.h"
#include "report/cells.h"

namespace xr::report {

namespace {

struct Time {
  const char *key, *heading;
  double (*ns)(const LatencyRow &);
  bool needs_quantiles, needs_two;
};
constexpr Time kTimes[] = {
    {"min_us", "MIN", [](const LatencyRow &r) { return static_cast<double>(r.min); }, false, false},
    {"mean_us", "MEAN", [](const LatencyRow &r) { return r.mean; }, false, false},
    {"p50_us", "P50", [](const LatencyRow &r) { return static_cast<double>(r.p50); }, true, false},
    {"p99_us", "P99", [](const LatencyRow &r) { return static_cast<double>(r.p99); }, true, false},
    {"p999_us", "P99.9", [](const LatencyRow &r) { return static_cast<double>(r.p999); }, true,
     false},
    {"max_us", "MAX", [](const LatencyRow &r) { return static_cast<double>(r.max); }, false, false},
    {"jitter_us", "JITTER", [](const LatencyRow &r) { return r.jitter; }, false, true},
};

Value time_of(const Time &time, const LatencyRow &row) {
  const bool known =
      row.timed > (time.needs_two ? 1 : 0) && (!time.needs_quantiles || row.quantiles);
  return known ? us(time.ns(row)) : Value{};
}

struct Count {
  const char *key, *heading, *words; // in a table, in a group
  uint64_t LatencyRow::*member;
  Hide hide;
  Tone tone;
};
constexpr Count kCounts[] = {
    {"frames", "FRAMES", "frames with stamps", &LatencyRow::frames, Hide::Never, Tone::Plain},
    {"lost", "LOST", "lost", &LatencyRow::lost, Hide::Never, Tone::Alarm},
    {"duplicates", "DUPLICATES", "duplicates", &LatencyRow::duplicates, Hide::Zero, Tone::Alarm},
    {"reordered", "REORDERED", "reordered", &LatencyRow::reordered, Hide::Zero, Tone::Alarm},
    {"too_old", "TOO OLD", "too old: late or duplicate is unknown", &LatencyRow::too_old,
     Hide::Zero, Tone::Alarm},
};

Table latency_rows(const LatencyReport &report, Where of) {
  std::vector<Column> columns = {
      {"src", "SOURCE"}, {"dst", "DESTINATION"}, {"dest_qp", "DEST QP", Format::Qpn}};
  for (const Count &count : kCounts)
    columns.push_back({count.key, count.heading, Format::Count, count.hide, count.tone});
  for (const Time &time : kTimes)
    columns.push_back({time.key, time.heading, Format::Number});
  const bool json = of == Where::Json;
  if (json)
    for (const char *key : {"jitter_rfc3550_us", "first_sequence", "last_sequence", "run"})
      columns.push_back({key, "", Format::Number});
  std::vector<std::vector<Value>> rows;
  for (const LatencyRow &row : report.streams) {
    std::vector<Value> cells = {names::address(row.src.data()), names::address(row.dst.data()),
                                uint64_t{row.dest_qp}};
    for (const Count &count : kCounts)
      cells.emplace_back(row.*count.member);
    for (const Time &time : kTimes)
      cells.push_back(time_of(time, row));
    if (json) {
      cells.push_back(row.timed > 1 ? us(row.jitter_rfc3550) : Value{});
      for (const uint64_t number : {row.first, row.last, row.run})
        cells.emplace_back(number);
    }
    rows.push_back(std::move(cells));
  }
  return make_table(std::move(columns), std::move(rows));
}

Group totals_of(const LatencyReport &report, bool json) {
  Group group;
  for (const Count &count : kCounts)
    group.push_back({{count.key, count.words, Format::Count, count.hide, count.tone},
                     report.total.*count.member});
  group.push_back(count("negative", "latencies below 0: the clocks differ", report.negative,
                        Hide::Zero, Tone::Alarm));
  group.push_back(count("untimed", "without a time of arrival", report.untimed));
  group.push_back(lost("streams_full", "not accounted: too many streams", report.streams_full));
  for (const Time &time : kTimes)
    group.push_back({{time.key, fmt::format("{}, us", time.heading), Format::Number},
                     time_of(time, report.total)});
  if (!json)
    return group;
  // A number or null; the document has no negative integers.
  const auto number = [](const char *key, const auto &value) {
    return Field{{key, ""}, value ? Value{static_cast<double>(*value)} : Value{}};
  };
  group.push_back(number("clock_offset_ns", report.clock_offset_ns));
  group.push_back(number("tai_offset_s", report.tai_offset_s));
  return group;
}

std::string latency_note(const LatencyReport &report) {
  std::string note;
  note += report.clock_offset_ns
              ? fmt::format("{} ns are subtracted (--clock-offset)", *report.clock_offset_ns)
              : "their offset between two hosts is unknown, and taken as 0 (--clock-offset NS)";
  if (report.tai_offset_s)
    note += fmt::format("; TAI - UTC of the capture: {} s (--tai-offset)", *report.tai_offset_s);
  return note;
}

} // namespace

void add_latency(Document &document, const LatencyReport &report) {
  Section text{"stamps_text", "STAMPS", totals_of(report, false), Where::Text};
  document.sections.push_back(std::move(text));
  document.sections.push_back(
      {"stamps_streams", "STAMPS BY STREAM, us", latency_rows(report, Where::Text), Where::Text});
  document.sections.push_back(
      {"stamps_clocks", "clocks", Value{latency_note(report)}, Where::Text});
  document.sections.push_back(
      {"stamps_jitter", "jitter",
       Value{"mean difference of the latencies of successive frames of a stream"}, Where::Text});
  document.sections.push_back(
      {"stamps", "", Nested{totals_of(report, true), "streams", latency_rows(report, Where::Json)},
       Where::Json});
}

} // namespace xr::report
