// SPDX-License-Identifier: Apache-2.0
#include "report/runs.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/layer1.h"
#include "report/cells.h"
#include "report/latency.h"
#include "report/phrases.h"
#include "report/processors.h"
#include "report/run_parts.h"
#include "report/summary.h"
#include "report/text.h"

namespace xr::report {

namespace {

constexpr const char *kKindNames[] = {"open", "reliable", "replay", "pfc"}; // by SendReport::Kind

constexpr double kTolerance = 0.005; // fraction of the requested rate

// A packet rate and the bit rates that correspond to it.
struct Speed {
  double packets = 0, l1 = 0, l2 = 0;
};

double mean_frame(const EngineCounts &engine) {
  return engine.sent ? static_cast<double>(engine.sent_bytes) / static_cast<double>(engine.sent)
                     : 0;
}

Speed speed_of(double packets, double frame) {
  return {packets, packets * (frame + kLayer1Bytes) * 8, packets * frame * 8};
}

Speed speed_between(uint64_t packets, uint64_t bytes, double seconds) {
  if (seconds <= 0 || !packets)
    return {};
  return speed_of(static_cast<double>(packets) / seconds,
                  static_cast<double>(bytes) / static_cast<double>(packets));
}

Section speed_section(const char *key, const char *title, const std::optional<Speed> &speed) {
  const auto field = [&](const char *name, const char *heading, double Speed::*member) {
    return Field{{name, heading, Format::Scaled}, speed ? Value{rounded(*speed.*member)} : Value{}};
  };
  return {key, title,
          Group{field("packets_per_second", "packets/s", &Speed::packets),
                field("l1_bits_per_second", "bit/s L1", &Speed::l1),
                field("l2_bits_per_second", "bit/s L2", &Speed::l2)}};
}

struct Timed {
  const char *key;
  const char *heading;
  const Histogram &histogram;
};

// One row per kind of time, in microseconds.
Section times_section(const std::vector<Timed> &all) {
  std::vector<std::vector<Value>> rows;
  const auto us = [](uint64_t ns) { return rounded(static_cast<double>(ns) / 1000); };
  for (const auto &[key, heading, h] : all) {
    if (!h.count())
      continue;
    rows.push_back({std::string(key), std::string(heading), h.count()});
    for (const uint64_t ns :
         {h.min(), h.quantile(0.5), h.quantile(0.99), h.quantile(0.999), h.max()})
      rows.back().emplace_back(us(ns));
    rows.back().emplace_back(rounded(h.mean() / 1000));
  }
  std::vector<Column> columns = {
      {"what", "", Format::Text, Hide::Never, Tone::Plain, Where::Json},
      {"name", "TIMES, us", Format::Text, Hide::Never, Tone::Plain, Where::Text},
      {"count", "COUNT", Format::Count}};
  for (const auto &[key, heading] :
       {std::pair("min_us", "MIN"), std::pair("p50_us", "P50"), std::pair("p99_us", "P99"),
        std::pair("p999_us", "P99.9"), std::pair("max_us", "MAX"), std::pair("mean_us", "MEAN")})
    columns.push_back({key, heading, Format::Rate});
  return hidden_when_zero("times", "", make_table(std::move(columns), std::move(rows)));
}

Group sent_group(const SendReport &r) {
  const SendCounts &c = r.counts;
  Group group = {count("packets", "packets", r.engine.sent, Hide::Never),
                 count("bytes", "bytes", r.engine.sent_bytes, Hide::Never),
                 count("messages",
                       r.kind == SendReport::Kind::Reliable ? "messages completed" : "messages",
                       c.messages, Hide::Never),
                 count("message_bytes", "their payload", c.message_bytes, Hide::Never)};
  if (r.expected)
    group.push_back(count(
        "expected", r.kind == SendReport::Kind::Reliable ? "messages expected" : "packets expected",
        r.expected));
  return group;
}

std::vector<Column> rate_columns() {
  return {{"qp", "QP", Format::Qpn},
          {"qps", "QPS", Format::Count, Hide::Never, Tone::Plain, Where::Json},
          {"rate_bps", "RATE NOW", Format::Scaled},
          {"mean_bps", "MEAN", Format::Scaled},
          {"target_bps", "TARGET", Format::Scaled},
          {"alpha", "ALPHA"},
          {"cnps", "CNPS", Format::Count},
          {"cnps_unused", "UNUSED", Format::Count, Hide::Zero},
          {"cuts", "CUTS", Format::Count},
          {"increases_fast", "FAST", Format::Count},
          {"increases_additive", "ADDITIVE", Format::Count},
          {"increases_hyper", "HYPER", Format::Count}};
}

std::vector<Value> rate_row(const QpRate &qp, Value name) {
  return {std::move(name),
          qp.qps,
          std::round(qp.rate),
          std::round(qp.mean),
          std::round(qp.target),
          qp.alpha,
          qp.cnps,
          qp.cnps_unused,
          qp.cuts,
          qp.fast,
          qp.additive,
          qp.hyper};
}

// The QPs whose rates are controlled; the last row sums those without a row of their own.
void add_rates(std::vector<Section> &sections, const RunReport &r) {
  if (r.qps.empty())
    return;
  std::vector<std::vector<Value>> rows;
  for (const QpRate &qp : r.qps)
    rows.push_back(rate_row(qp, uint64_t{qp.qp}));
  if (r.other_qps.qps)
    rows.push_back(rate_row(r.other_qps, Value{}));
  sections.push_back({"rates", "", make_table(rate_columns(), std::move(rows))});
  if (r.other_qps.qps)
    sections.push_back({"rates_summed", "QP -: the sum of the other QPs, as many as",
                        Value{r.other_qps.qps}, Where::Text});
  sections.push_back({"jain", "Jain's index of the mean rates", Value{rounded(r.jain)}});
}

Section pfc_section(const PfcReport &r) {
  const NumberList priorities(r.priorities.begin(), r.priorities.end());
  const NumberList quanta(r.quanta.begin(), r.quanta.end());
  const auto us = [](uint64_t ns) { return Value{static_cast<double>(ns) / 1000}; };
  const auto time = [&](const char *key, const char *heading, Value value) {
    return Field{{key, heading, Format::Number}, std::move(value)};
  };
  const bool gaps = r.gap_ns.count() > 0;
  Section section{
      "pfc", r.global ? "PAUSE" : "PFC",
      Group{
          {{"global", "", Format::Text, Hide::Never, Tone::Plain, Where::Json}, r.global},
          {{"storm", "storm", Format::Text, Hide::Zero}, r.storm},
          {{"priorities", "priorities", Format::Text, Hide::Zero}, priorities},
          {{"enable_vector", "class-enable vector", Format::Text, Hide::Zero},
           r.global ? std::string() : fmt::format("{:#04x}", r.enable)},
          {{"quanta", "quanta"}, quanta},
          time("pause_us", "pause of the least quanta, us", r.pause_ns ? us(r.pause_ns) : Value{}),
          time("interval_us", "interval asked, us", us(r.interval_ns)),
          time("largest_gap_us", "largest gap, us", gaps ? us(r.gap_ns.max()) : Value{}),
          time("gap_p999_us", "gap p99.9, us", gaps ? us(r.gap_ns.quantile(0.999)) : Value{}),
          lost("late", "gaps above half of the pause", r.late),
          lost("lapsed", "gaps above the pause: it lapsed", r.lapsed),
          count("xons", "XON", r.xons)}};
  if (r.storm && r.lapsed)
    section.tone = Tone::Alarm;
  return section;
}

// `port_counted`: frames of all senders; some drivers do not count redirected ones.
Section engine_of(const SendReport &r) {
  Group group = {{{"name", "sent by"}, std::string(r.live ? "live" : "afxdp")},
                 {{"why", "because"}, r.engine_why}};
  if (r.live) {
    group.push_back(count("batch", "frames in a batch", r.live_batch));
    group.push_back(count("port_counted", "frames that the port counted as sent",
                          r.engine.port_sent, Hide::Never));
  }
  return {"engine", "ENGINE", std::move(group)};
}

std::string packets_words(double rate) { return scaled_words(rate, "packets/s"); }

} // namespace

std::string shortfall(const SendReport &report) {
  const Speed got = speed_between(report.engine.sent, report.engine.sent_bytes, report.seconds);
  // Flows that start late or ramp up are slower than requested, but still on schedule.
  const auto behind = static_cast<double>(report.counts.slipped_ns + report.engine.last_late_ns);
  const bool in_time = behind < report.seconds * 1e9 * kTolerance && !report.engine.not_sent;
  if (!(report.asked_pps > 0) || in_time || got.packets >= report.asked_pps * (1 - kTolerance))
    return "";
  return fmt::format("{} were asked for and {} achieved ({:.1f} %)",
                     packets_words(report.asked_pps), packets_words(got.packets),
                     got.packets / report.asked_pps * 100);
}

Status check_storm(const PfcReport &r) {
  if (!r.storm || !r.lapsed)
    return {};
  const auto us = [](uint64_t ns) { return static_cast<double>(ns) / 1000; };
  const bool longest = std::all_of(r.quanta.begin(), r.quanta.end(),
                                   [](uint16_t value) { return value == UINT16_MAX; });
  return Error{fmt::format("the storm lapsed: {} of its gaps {} longer than a pause, the largest "
                           "{:.1f} us, and a frame pauses for {:.1f} us",
                           r.lapsed, r.lapsed == 1 ? "was" : "were", us(r.gap_ns.max()),
                           us(r.pause_ns)),
               longest ? "a processor that nothing else uses: taskset -c CPU xdp-roce send ..."
                       : "quanta 65535 pause for the longest time"};
}

Document send_document(const SendReport &r) {
  Document document = begin_run("send", r.ifname, r.seconds);
  auto &s = document.sections;
  const Speed got = speed_between(r.engine.sent, r.engine.sent_bytes, r.seconds);
  add_summary(document, send_summary(r));
  s.push_back({"mode", "", std::string(kKindNames[static_cast<size_t>(r.kind)]), Where::Json});
  s.push_back({"seed", "", known(r.seed), Where::Json});
  s.push_back({"finished", "", Value{r.finished}, Where::Json});
  s.push_back(port_section(r, !r.live));
  add_processors(s, r.processors);
  if (!r.engine_why.empty())
    s.push_back(engine_of(r));
  s.push_back(speed_section(
      "asked", "ASKED",
      r.asked_pps > 0 ? std::optional(speed_of(r.asked_pps, mean_frame(r.engine))) : std::nullopt));
  s.push_back(speed_section("achieved", "ACHIEVED", got));
  s.back().note = shortfall(r);
  if (!s.back().note.empty())
    s.back().tone = Tone::Alarm;
  s.push_back({"sent", "SENT", sent_group(r)});
  if (r.pfc)
    s.push_back(pfc_section(*r.pfc));
  if (r.cm)
    s.push_back(cm_section(*r.cm));
  if (r.verified)
    add_verified(s, *r.verified);
  add_sent(s, r.counts);
  add_rates(s, r);
  add_pauses(s, r.pauses);
  s.push_back(times_section({{"rtt", "RTT of ACKs", r.counts.rtt_ns},
                             {"completion", "message completion", r.counts.completion_ns},
                             {"late", "delay after schedule", r.engine.late_ns},
                             {"jitter", "inter-packet jitter", r.engine.jitter_ns}}));
  s.push_back(engine_overflow(
      r.engine,
      {lost("not_taken", "frames that the port did not count as sent", r.not_taken),
       lost("schedule_given_up_ms", "ms of schedule given up: sending was too slow",
            r.counts.slipped_ns / 1'000'000),
       lost("cnps_no_room", "CNPs not sent: too many streams at once", r.counts.cnps_no_room),
       lost("kept_no_room", "answers not kept: too many are missing before them",
            r.counts.kept_no_room),
       lost("series_rows_dropped", "samples that found no room: a larger --sample",
            r.series_rows_dropped)}));
  return document;
}

Document respond_document(const RespondReport &r) {
  const RespondCounts &c = r.counts;
  Document document = begin_run("respond", r.ifname, r.seconds);
  auto &s = document.sections;
  add_summary(document, respond_summary(r));
  s.push_back(port_section(r));
  add_processors(s, r.processors);
  s.push_back({"sink", "", Value{r.latency.has_value()}, Where::Json});
  s.push_back({"addresses", "", Value{StringList(r.addresses)}, Where::Json});
  if (r.memory)
    s.push_back(memory_section(*r.memory));
  s.push_back(
      {"received", "RECEIVED",
       Group{count("frames", "frames", r.engine.received, Hide::Never),
             count("bytes", "bytes", r.engine.received_bytes, Hide::Never),
             count("requests", "requests", c.requests, Hide::Never),
             count("in_order", "in order", c.in_order),
             count("out_of_order", "out of order", c.out_of_order, Hide::Zero, Tone::Alarm),
             count("kept", "kept until an earlier one comes", c.kept),
             count("duplicates", "duplicates", c.duplicates),
             count("messages", "messages", c.messages, Hide::Never),
             count("message_bytes", "their payload", c.message_bytes, Hide::Never),
             count("datagrams", "UD datagrams", c.datagrams),
             count("unreliable", "UC packets", c.unreliable),
             count("uc_dropped", "UC packets of broken messages", c.uc_dropped),
             count("ce", "marked CE", c.ce),
             count("responses", "ACKs, responses, CNPs", c.responses_seen),
             count("cnps", "CNPs for READ responses", c.cnps_received),
             count("cnps_stray", "CNPs for QPs without any", c.cnps_stray),
             count("qps", "connections", c.qps),
             count("other_queue", "on another queue than their connection's", c.other_queue)}});
  s.push_back(
      {"answered", "ANSWERED",
       Group{count("packets", "packets", r.engine.sent, Hide::Never), count("acks", "ACKs", c.acks),
             count("naks", "NAKs", c.naks), // of all causes, see REFUSED
             count("rnr_naks", "RNR NAKs", c.rnr_naks),
             count("read_responses", "READ responses", c.read_responses),
             count("atomic_acks", "ATOMIC ACKs", c.atomic_acks), count("cnps", "CNPs", c.cnps),
             count("cnps_paced", "CNPs not sent: within the interval", c.cnps_paced),
             count("arp", "ARP", c.arp), count("nd", "neighbour discovery", c.nd),
             count("cm_messages", "RDMA CM messages", c.cm_messages),
             count("cm_connections", "RDMA CM connections", c.cm_connections)}});
  s.push_back(hidden_when_zero(
      "refused", "REFUSED",
      Group{
          lost("bad_icrc", "bad iCRC", c.bad_icrc), lost("malformed", "malformed", c.malformed),
          lost("invalid", "invalid requests, answered by NAK", c.invalid),
          lost("bad_rkey", "wrong R_Key, answered by NAK", c.bad_rkey),
          lost("out_of_bounds", "outside the memory, answered by NAK", c.out_of_bounds),
          lost("no_access", "access that the memory does not allow, answered by NAK", c.no_access),
          lost("qps_in_error", "QPs in error after that", c.qps_in_error),
          lost("dropped_in_error", "requests for QPs in error, dropped", c.dropped_in_error),
          lost("no_qp", "for unknown QPNs", c.no_qp),
          count("not_mine", "for other addresses", c.not_mine),
          lost("cm_rejected", "RDMA CM requests rejected", c.cm_rejected),
          lost("cm_other_version", "RDMA CM of the other RoCE version, ignored",
               c.cm_other_version)}));
  add_rates(s, r);
  add_pauses(s, r.pauses);
  if (r.latency)
    add_latency(document, *r.latency);
  s.push_back(engine_overflow(
      r.engine,
      {lost("qps_full", "requests dropped: no free connection", c.qps_full),
       lost("cnps_no_room", "CNPs not sent: too many streams at once", c.cnps_no_room),
       lost("schedule_given_up_ms", "ms of schedule given up: sending was too slow",
            c.slipped_ns / 1'000'000),
       lost("kept_no_room", "requests not kept: too many wait for a missing one", c.kept_no_room),
       lost("answers_dropped", "requests dropped: the reply queue was full", c.answers_dropped),
       lost("other_queue_full", "dropped: too many wait for their connection's queue",
            c.other_queue_full)}));
  return document;
}

std::string send_line(const SendReport &now, const SendReport *before) {
  const Speed speed =
      speed_between(now.engine.sent - (before ? before->engine.sent : 0),
                    now.engine.sent_bytes - (before ? before->engine.sent_bytes : 0),
                    now.seconds - (before ? before->seconds : 0));
  std::string line = fmt::format("{}, {} L1", packets_words(speed.packets), rate_words(speed.l1));
  if (now.asked_pps > 0)
    line += fmt::format(" of {} asked", packets_words(now.asked_pps));
  if (now.counts.rtt_ns.count())
    line += fmt::format(", RTT {:.0f} us (p99 {:.0f})",
                        static_cast<double>(now.counts.rtt_ns.quantile(0.5)) / 1000,
                        static_cast<double>(now.counts.rtt_ns.quantile(0.99)) / 1000);
  if (now.counts.retransmitted)
    line += fmt::format(", {} sent again", now.counts.retransmitted);
  if (now.counts.cnps)
    line += fmt::format(", {}", counted(now.counts.cnps, "CNP"));
  return line;
}

std::string respond_line(const RespondReport &now, const RespondReport *before) {
  const double seconds = now.seconds - (before ? before->seconds : 0);
  const Speed in = speed_between(
      now.engine.received - (before ? before->engine.received : 0),
      now.engine.received_bytes - (before ? before->engine.received_bytes : 0), seconds);
  const Speed out =
      speed_between(now.engine.sent - (before ? before->engine.sent : 0),
                    now.engine.sent_bytes - (before ? before->engine.sent_bytes : 0), seconds);
  return fmt::format("in {}, {} L1; out {}; {}, {}", packets_words(in.packets), rate_words(in.l1),
                     packets_words(out.packets), counted(now.counts.naks, "NAK"),
                     counted(now.counts.cnps, "CNP"));
}

} // namespace xr::report
