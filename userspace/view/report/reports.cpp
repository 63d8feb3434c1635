// SPDX-License-Identifier: Apache-2.0
#include "report/reports.h"

#include <cmath>

#include <fmt/format.h>

#include "base/clock.h"
#include "names/names.h"
#include "report/capture_notes.h"
#include "report/sections.h"
#include "report/summary.h"

namespace xr::report {

namespace {

std::string moment_title(const Moment &moment) {
  const Snapshot &s = moment.now;
  std::string title = s.name == "-" ? "standard input" : s.name;
  if (s.truncated)
    title += " (truncated)";
  if (moment.realtime_ns)
    title += "  " + names::local_time(moment.realtime_ns);
  if (moment.before)
    title += fmt::format("  over {:.2f} s", seconds_of(moment));
  return title;
}

Section moment_source(const Snapshot &s) {
  const bool interface = s.source == Snapshot::Source::Interface;
  Group group = {{{"kind", ""}, interface ? "interface" : "capture"}, {{"name", ""}, s.name}};
  if (interface)
    group.push_back({{"stream_capacity", ""}, uint64_t{s.stream_capacity}});
  else
    group.push_back({{"truncated", ""}, s.truncated});
  if (!s.files.empty())
    group.push_back({{"files", ""}, StringList(s.files)});
  return {"source", "", std::move(group), Where::Json};
}

} // namespace

double seconds_of(const Moment &moment) {
  if (!moment.before || moment.now.time_ns <= moment.before->time_ns)
    return 0;
  return static_cast<double>(moment.now.time_ns - moment.before->time_ns) / 1e9;
}

double rate_of(uint64_t now, uint64_t before, double seconds) {
  if (seconds <= 0 || now <= before)
    return 0;
  return std::round(static_cast<double>(now - before) / seconds * 1000) / 1000;
}

Document begin(const Moment &moment) {
  Document document;
  document.title = moment_title(moment);
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  document.sections.push_back(moment_source(moment.now));
  if (moment.realtime_ns)
    document.sections.push_back(
        {"time", "", Value{names::utc_time(moment.realtime_ns)}, Where::Json});
  return document;
}

Document port_document(const std::string &ifname) {
  Document document;
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  document.sections.push_back(
      {"source", "", Group{{{"kind", ""}, "interface"}, {{"name", ""}, ifname}}, Where::Json});
  document.sections.push_back({"time", "", Value{names::utc_time(realtime_ns())}, Where::Json});
  return document;
}

Group overflow_of(const Snapshot &snapshot) {
  const roce_totals &t = snapshot.totals;
  // A capture has no reader of events, so its rate limit loses nothing.
  const bool interface = snapshot.source == Snapshot::Source::Interface;
  const auto lost = [](const char *key, const char *heading) {
    return Column{key, heading, Format::Count, Hide::Zero, Tone::Alarm};
  };
  return {
      {lost("streams", "packets not tracked: the stream table was full"),
       uint64_t{t.streams_full + t.streams_contended}},
      {lost("events", "events lost: not read in time"), uint64_t{t.events_dropped}},
      {lost("events_limited", "events suppressed: over 20 per second of one stream"),
       uint64_t{interface ? t.events_limited : 0}},
      {lost("no_socket",
            "frames for send or respond on a queue without a socket: passed to the host"),
       uint64_t{t.no_socket}},
      {lost("mirrors", "frames of mirror sessions that had no room in the table"),
       uint64_t{t.mirrors_full}},
      {lost("pairs", "packets of QP pairs not followed: the table of pairs was full"),
       uint64_t{t.pairs_full}},
      {lost("pairs_contended",
            "packets not followed, or in no burst: other CPUs were changing their pair"),
       uint64_t{t.pairs_contended}},
      {lost("job_pairs", "packets in no burst: the table of pairs of hosts was full"),
       uint64_t{t.job_full}},
      {lost("tunnel_fragments", "fragments of tunnels, not put together"),
       uint64_t{t.tunnel_fragments}},
      {lost("tunnels_deep", "frames in more than two tunnels, not taken off"),
       uint64_t{t.tunnels_deep}},
      {lost("streams_forgotten", "idle streams replaced by new ones"),
       uint64_t{t.streams_forgotten}},
  };
}

void add_overflow(Document &document, const Snapshot &snapshot) {
  const roce_totals &t = snapshot.totals;
  Group counts = overflow_of(snapshot);
  if (snapshot.source == Snapshot::Source::Capture)
    counts.push_back(lost("pfc_senders", "PFC and PAUSE frames of senders without a row: too many",
                          snapshot.pfc_senders.without_row));
  Section section{"overflow", "OVERFLOW", std::move(counts)};
  section.hide = Hide::Zero;
  section.tone = Tone::Alarm;
  if (t.streams_full + t.streams_contended || t.streams_forgotten)
    section.note = "more room: detach, then attach --streams N";
  document.sections.push_back(std::move(section));
}

Document counters_report(const Moment &moment) {
  Document document = begin(moment);
  add_summary(document, traffic_summary(moment));
  add_counters(document, moment);
  add_overflow(document, moment.now);
  return document;
}

Document streams_report(const Moment &moment, const StreamOptions &options) {
  Document document = begin(moment);
  add_summary(document, traffic_summary(moment));
  add_streams(document, moment, options);
  add_overflow(document, moment.now);
  return document;
}

Document analyze_report(const Snapshot &snapshot, const StreamOptions &options,
                        const Episodes *episodes, const std::vector<SetupCheck> &checks,
                        const JobTraffic *job) {
  const Moment moment{snapshot};
  Document document = begin(moment);
  Summary summary = traffic_summary(moment, episodes, checks);
  if (job)
    add_job(summary, *job);
  add_summary(document, std::move(summary));
  add_counters(document, moment);
  add_streams(document, moment, options, episodes);
  add_capture_notes(document, snapshot);
  add_overflow(document, snapshot);
  return document;
}

Document event_report(const roce_event &e, uint64_t realtime_ns) {
  Document document;
  const auto add = [&document](const char *key, Value value) {
    document.sections.push_back({key, "", std::move(value), Where::Json});
  };
  add("schema", uint64_t{1});
  add("time", names::utc_time(realtime_ns));
  add("type", names::event_name(e.type));
  add("src", names::address(e.key.src));
  add("dst", names::address(e.key.dst));
  add("dest_qp", uint64_t{roce_key_qp(&e.key)});
  add("kind", names::kind_name(e.key));
  add("roce_version", uint64_t{e.key.qp_kind & ROCE_KEY_V1 ? 1u : 2u});
  add("opcode", uint64_t{e.opcode});
  add("name", names::opcode_name(e.opcode));
  add("psn", uint64_t{e.psn});
  if (e.type == ROCE_EVENT_GAP || e.type == ROCE_EVENT_REWIND)
    add("expected", uint64_t{e.expected});
  if (e.type == ROCE_EVENT_GAP)
    add("skipped", uint64_t{e.skipped});
  if (e.type == ROCE_EVENT_NAK || e.type == ROCE_EVENT_RNR_NAK)
    add("syndrome", uint64_t{e.syndrome});
  if (e.type == ROCE_EVENT_NAK)
    add("nak", names::nak_name(e.syndrome));
  if (e.type == ROCE_EVENT_RNR_NAK)
    add("rnr_timer_ms", names::rnr_timer_ms(e.syndrome));
  add("cpu", uint64_t{e.cpu});
  document.sections.push_back({"", "",
                               Value{names::event_line(realtime_ns, names::event_heading(e.type),
                                                       e.key, names::event_text(e))},
                               Where::Text});
  return document;
}

} // namespace xr::report
