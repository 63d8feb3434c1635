// SPDX-License-Identifier: Apache-2.0
#include "live/event.h"

#include <algorithm>
#include <array>
#include <map>

#include "names/names.h"
#include "report/json.h"
#include "report/live_job.h"
#include "report/passive_latency.h"
#include "report/sections.h"
#include "report/wire.h"

namespace xr::live {

namespace {

using report::Document;
using report::Section;
using report::Value;

constexpr size_t kLeastRows = 10; // streams of a port, however many ports there are
constexpr size_t kStepTimes = 120, kLateSteps = 10;

// Moves the sections with these keys to the end of `to`.
void take(Document &to, Document from, std::initializer_list<std::string_view> keys) {
  for (Section &section : from.sections)
    if (std::ranges::find(keys, section.key) != keys.end() && section.where != report::Where::Text)
      to.sections.push_back(std::move(section));
}

// The round trips that ended between two readings.
Section round_trips(const PassiveLatency &now, const PassiveLatency *before) {
  std::map<uint64_t, uint64_t> counts; // by the upper bound of the bucket
  const auto add = [&counts](const PassiveLatency &latency, auto change) {
    for (const PassiveBucket &bucket : latency.histogram)
      if (bucket.kind == ROCE_LATENCY_ACK && !bucket.bound)
        change(counts[bucket.to], bucket.count);
  };
  add(now, [](uint64_t &count, uint64_t more) { count += more; });
  if (before)
    add(*before, [](uint64_t &count, uint64_t less) { count -= std::min(count, less); });
  uint64_t all = 0;
  for (const auto &[to, count] : counts)
    all += count;
  const auto quantile = [&](double share) -> Value {
    uint64_t below = 0;
    for (const auto &[to, count] : counts)
      if (below += count; all && static_cast<double>(below) >= share * static_cast<double>(all))
        return to;
    return {};
  };
  return {"rtt", "",
          report::Group{{{"count", ""}, all},
                        {{"p50_ns", ""}, quantile(0.5)},
                        {{"p99_ns", ""}, quantile(0.99)}}};
}

void add_link(Document &document, const std::string &name, const Reading &reading) {
  WirePortReport port;
  port.ifname = name;
  port.running = reading.wire_running;
  port.counts = reading.wire;
  take(document, report::link_document(port), {"queue", "drops"});
}

// The newest late steps, the newest first. `times`: of the steps that are over.
report::Rows late_rows(const LiveJob &live, const std::vector<uint64_t> &times) {
  report::Rows rows;
  if (times.empty())
    return rows;
  std::vector<uint64_t> sorted = times;
  std::ranges::sort(sorted);
  const uint64_t median = sorted[sorted.size() / 2];
  for (size_t i = times.size(); i-- > 0 && rows.size() < kLateSteps;) {
    const JobStep &step = live.job.steps[i];
    if (!report::is_late(step, median))
      continue;
    const bool known = step.late_rank != JobStep::kNoRank;
    rows.push_back({live.steps_before + i + 1, times[i],
                    known ? Value{names::address(live.job.ranks[step.late_rank].data())} : Value{},
                    known ? Value{step.late_ns} : Value{}});
  }
  return rows;
}

// Null if the port keeps no bursts; a sentence alone if they are of no job.
Section job_section(const LiveJob *live) {
  if (!live)
    return {"job", "", Value{}, report::Where::Json};
  const JobTraffic &job = live->job;
  const bool is_job = job.is_job();
  const auto known = [is_job](Value value) { return is_job ? std::move(value) : Value{}; };
  std::vector<uint64_t> times = is_job ? report::live_step_times(*live) : std::vector<uint64_t>();
  report::Rows late = late_rows(*live, times);
  if (times.size() > kStepTimes)
    times.erase(times.begin(), times.end() - kStepTimes);
  return {"job", "",
          report::Nested{
              {{{"sentence", ""}, report::live_job_sentence(*live)},
               {{"ranks", ""}, is_job ? uint64_t{job.ranks.size()} : 0},
               {{"steps", ""}, is_job ? live->steps_before + job.steps.size() : 0},
               {{"period_ns", ""}, known(job.period_ns)},
               {{"duty", ""}, known(job.duty)},
               {{"missed", ""}, live->missed},
               {{"step_ns", ""}, std::move(times)}},
              "late_steps",
              report::make_table({{"number", ""}, {"step_ns", ""}, {"rank", ""}, {"late_ns", ""}},
                                 std::move(late))}};
}

// The document refers to the port's readings.
Document document_of(const Port &port, const report::StreamOptions &options) {
  const auto lost = [&port](Document document) {
    document.sections.push_back(
        {"lost", "", port.lost.empty() ? Value{} : Value{port.lost}, report::Where::Json});
    return document;
  };
  if (!port.now)
    return lost(report::port_document(port.name));
  const Reading &now = *port.now;
  const report::Moment total{now.snapshot, nullptr, now.realtime_ns};
  // The counts and the sentences since the port was attached, the rates since the last reading.
  Document document = report::counters_report(total);
  report::Moment second = total;
  if (port.before && port.lost.empty()) {
    second.before = &port.before->snapshot;
    take(document, report::counters_report(second), {"rates"});
  }
  report::add_streams(document, second, options);
  if (now.latency) {
    const bool known = port.before && port.before->latency;
    document.sections.push_back(
        round_trips(*now.latency, known ? port.before->latency.get() : nullptr));
    take(document, report::passive_latency_report(port.name, *now.latency), {"latency_port"});
  }
  if (now.wire)
    add_link(document, port.name, now);
  document.sections.push_back(job_section(now.job.get()));
  return lost(std::move(document));
}

const char *format_name(report::Format format) {
  constexpr std::array<const char *, 7> kNames = {"text",   "number", "count", "qpn",
                                                  "opcode", "rate",   "scaled"};
  return kNames.at(static_cast<size_t>(format));
}

} // namespace

std::string event(const std::vector<Port> &ports, const report::StreamOptions &options) {
  report::StreamOptions each = options;
  if (options.top)
    each.top = std::max(kLeastRows, options.top / std::max<size_t>(ports.size(), 1));
  std::string text = "{\"ports\":[";
  for (const Port &port : ports) {
    text += &port == ports.data() ? "" : ",";
    text += report::to_json(document_of(port, each), report::JsonStyle::Line);
    text.pop_back(); // the newline
  }
  return text + "]}";
}

std::string stream_columns() {
  const Snapshot none;
  Document document;
  report::add_streams(document, {none, &none}, {});
  report::Rows rows;
  for (const Section &section : document.sections)
    if (const auto *table = std::get_if<report::Table>(&section.body))
      for (const report::Column &column : table->columns)
        rows.push_back({column.key, column.heading, std::string(format_name(column.format)),
                        column.hide == report::Hide::Zero, column.tone == report::Tone::Alarm});
  Document columns;
  columns.sections.push_back(
      {"columns", "",
       report::make_table(
           {{"key", ""}, {"heading", ""}, {"format", ""}, {"hide_zero", ""}, {"alarm", ""}},
           std::move(rows))});
  return report::to_json(columns, report::JsonStyle::Line);
}

} // namespace xr::live
