// SPDX-License-Identifier: Apache-2.0
#include "report/passive_latency.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>

#include "names/names.h"
#include "report/cells.h"
#include "report/sections.h"

namespace xr::report {

namespace {

// To add a time: roce_latency in include/roce/timed.h, timing.h, its name here;
// include/roce/README.md 11, docs/report.schema.json; latency_test, tests/e2e/latency.py.
constexpr std::array<const char *, ROCE_LATENCIES> kKinds = {
    "ack", "read_first", "read", "atomic", "message", "cnp", "fall"};

using Cells = std::vector<Value>;

struct PassiveTime {
  const char *key, *heading;
  uint64_t PassiveTimes::*ns;
};
constexpr PassiveTime kPassiveTimes[] = {{"min_ns", "MIN us", &PassiveTimes::min},
                                         {"p50_ns", "P50 us", &PassiveTimes::p50},
                                         {"p99_ns", "P99 us", &PassiveTimes::p99},
                                         {"max_ns", "MAX us", &PassiveTimes::max}};

std::vector<Column> time_columns() {
  std::vector<Column> columns = {
      {"kind", "TIME"}, {"bound", ""}, {"count", "COUNT", Format::Count}};
  for (const PassiveTime &time : kPassiveTimes) {
    columns.push_back({time.key, "", Format::Number, Hide::Never, Tone::Plain, Where::Json});
    columns.push_back({"", time.heading, Format::Number, Hide::Never, Tone::Plain, Where::Text});
  }
  columns.push_back({"mean_ns", "", Format::Number, Hide::Never, Tone::Plain, Where::Json});
  columns.push_back({"", "MEAN us", Format::Number, Hide::Never, Tone::Plain, Where::Text});
  return columns;
}

void add_passive_times(Cells &cells, const PassiveTimes &times) {
  cells.emplace_back(std::string(kKinds.at(times.kind)));
  cells.emplace_back(std::string(times.bound ? "upper" : "exact"));
  cells.emplace_back(times.count);
  for (const PassiveTime &time : kPassiveTimes) {
    const bool known = time.ns != &PassiveTimes::p99 || times.p99_known;
    cells.push_back(known ? Value{times.*time.ns} : Value{});
    cells.push_back(known ? us(static_cast<double>(times.*time.ns)) : Value{});
  }
  cells.emplace_back(std::round(times.mean * 1000) / 1000);
  cells.push_back(us(times.mean));
}

Table timed_streams(const PassiveLatency &found) {
  std::vector<Column> columns = {{"src", "SOURCE"},
                                 {"dst", "DESTINATION"},
                                 {"dest_qp", "DEST QP", Format::Qpn},
                                 {"src_qp", "SRC QP", Format::Qpn}};
  std::ranges::copy(time_columns(), std::back_inserter(columns));
  std::vector<Cells> rows;
  for (const PassiveRow &row : found.streams) {
    const PairName &name = row.name;
    Cells &cells = rows.emplace_back();
    cells = {names::address(name.key.src), names::address(name.key.dst),
             uint64_t{roce_key_qp(&name.key)}, maybe(name.src_qp)};
    add_passive_times(cells, row.times);
  }
  return make_table(std::move(columns), std::move(rows));
}

Table port_times(const PassiveLatency &found) {
  std::vector<Cells> rows;
  for (const PassiveTimes &times : found.port)
    add_passive_times(rows.emplace_back(), times);
  return make_table(time_columns(), std::move(rows));
}

Table histogram_of(const PassiveLatency &found) {
  std::vector<Cells> rows;
  for (const PassiveBucket &bucket : found.histogram)
    rows.push_back({std::string(kKinds.at(bucket.kind)),
                    std::string(bucket.bound ? "upper" : "exact"), bucket.from, bucket.to,
                    bucket.count});
  return make_table({{"kind", ""},
                     {"bound", ""},
                     {"from_ns", "", Format::Number},
                     {"to_ns", "", Format::Number},
                     {"count", "", Format::Count}},
                    std::move(rows));
}

// The histogram by powers of two, with a column a kind.
Table octaves_of(const PassiveLatency &found) {
  std::map<unsigned, std::array<uint64_t, ROCE_LATENCIES>> octaves;
  std::vector<Column> columns = {{"", "UP TO us", Format::Number}};
  for (const PassiveBucket &bucket : found.histogram)
    octaves[static_cast<unsigned>(std::bit_width(bucket.from))].at(bucket.kind) += bucket.count;
  for (const char *kind : kKinds)
    columns.push_back({kind, kind, Format::Count, Hide::Zero});
  std::vector<Cells> rows;
  for (const auto &[bits, counts] : octaves) {
    Cells &cells = rows.emplace_back();
    cells.push_back(us(std::ldexp(1, static_cast<int>(bits)) - 1));
    for (const uint64_t count : counts)
      cells.emplace_back(count);
  }
  return make_table(std::move(columns), std::move(rows));
}

} // namespace

const char *latency_kind(unsigned kind) { return kKinds.at(kind); }

void add_passive_latency(Document &document, const PassiveLatency &latency) {
  Section streams{"latency", "LATENCY", timed_streams(latency)};
  streams.note = "no request of RC or XRC has its answer here";
  document.sections.push_back(std::move(streams));
  Section port{"latency_port", "LATENCY OF ALL STREAMS", port_times(latency)};
  port.hide = Hide::Zero;
  document.sections.push_back(std::move(port));
  Section octaves{"latency_octaves", "HISTOGRAM", octaves_of(latency), Where::Text};
  octaves.hide = Hide::Zero;
  document.sections.push_back(std::move(octaves));
  if (std::ranges::any_of(latency.port, &PassiveTimes::bound))
    document.sections.push_back({"latency_upper", "upper",
                                 Value{"no longer than this: the answer covers several, the CNP "
                                       "several marks, or the rate fell "
                                       "after several CNPs"},
                                 Where::Text});
  document.sections.push_back({"latency_histogram", "", histogram_of(latency), Where::Json});
  Section untimed{
      "latency_untimed", "NOT TIMED",
      Group{count("ambiguous", "requests that passed again before their answer", latency.ambiguous),
            count("broken", "messages of which packets are missing here", latency.broken),
            count("unanswered", "requests whose answer is missing here", latency.unanswered),
            count("unpaired", "answers whose requests are not known", latency.unpaired),
            count("cnps_steady", "CNPs after which the rate did not fall measurably",
                  latency.cnps_steady),
            count("cnps_unmeasured", "CNPs with too few packets of messages before or after",
                  latency.cnps_unmeasured),
            count("cnps_close", "CNPs less than 200 us after another of their QP",
                  latency.cnps_close),
            lost("full", "requests beyond 128 of a stream that wait", latency.full),
            lost("pairs", "packets of QP pairs that had no room", latency.pairs_full),
            lost("contended", "packets while other CPUs were changing their QP pair",
                 latency.pairs_contended)}};
  untimed.hide = Hide::Zero;
  document.sections.push_back(std::move(untimed));
}

Document passive_latency_report(const std::string &ifname, const PassiveLatency &found) {
  Document document = port_document(ifname);
  add_passive_latency(document, found);
  return document;
}

} // namespace xr::report
