// SPDX-License-Identifier: Apache-2.0
#include "report/peer.h"

#include <fmt/format.h>

#include "report/cells.h"
#include "report/phrases.h"
#include "report/processors.h"
#include "report/run_parts.h"
#include "report/summary.h"

namespace xr::report {

namespace {

std::string plural(uint64_t count, const char *thing) {
  return fmt::format("{} {}{}", number_words(count), thing, count == 1 ? "" : "s");
}

Value measured(double value) { return value > 0 ? Value{rounded(value)} : Value{}; }

std::string bandwidth_words(const PeerTest &t) {
  return fmt::format("{:.2f} MiB/s on average, {} messages/s", t.bandwidth.average_mb,
                     number_words(static_cast<uint64_t>(t.bandwidth.message_rate * 1e6)));
}

Summary peer_summary(const PeerReport &r) {
  const PeerTest &t = r.test;
  Summary summary;
  const std::string who = fmt::format("{} {} {}", t.tool, t.client ? "with" : "from", t.peer);
  if (!t.failure.empty())
    summary.sentences.push_back(fmt::format("{}: not finished: {}.", who, t.failure));
  else if (t.latency)
    summary.sentences.push_back(fmt::format("{}: {:.2f} us typical, {:.2f} us in 99 of 100.", who,
                                            t.latency->typical_us, t.latency->p99_us));
  else if (t.bandwidth.size)
    summary.sentences.push_back(fmt::format("{}: {}.", who, bandwidth_words(t)));
  else
    summary.sentences.push_back(fmt::format("{}: {} arrived and {} were sent.", who,
                                            plural(t.arrived, "message"), number_words(t.sent)));
  const SendCounts &s = t.sent_counts;
  const RespondCounts &c = t.respond_counts;
  if (const uint64_t again = s.retransmitted)
    summary.sentences.push_back(fmt::format(
        "{} went again after {}, {} and {}.", plural(again, "packet"), plural(s.naks, "NAK"),
        plural(s.rnr_naks, "RNR NAK"), plural(s.timeouts, "timeout")));
  if (c.duplicates || c.out_of_order)
    summary.sentences.push_back(
        fmt::format("Of the other side's requests {} came again and {} came after a missing one.",
                    number_words(c.duplicates), number_words(c.out_of_order)));
  if (const PeerReaction &re = t.reaction; re.faults && re.first_ms > 0)
    summary.sentences.push_back(fmt::format(
        "After the first of {} it sent again within {:.3f} ms, {}, the last after {:.1f} ms.",
        plural(re.faults, "fault"), re.first_ms, plural(re.rounds, "time"), re.last_ms));
  else if (re.faults)
    summary.sentences.push_back(
        fmt::format("{} made it send nothing again.", plural(re.faults, "fault")));
  if (t.bad_data)
    summary.sentences.push_back(fmt::format("{} did not have the data that the tool sends.",
                                            plural(t.bad_data, "message")));
  summary.fact("sent", t.sent, "messages");
  summary.fact("arrived", t.arrived, "messages");
  summary.fact("retransmitted", s.retransmitted, "packets");
  summary.fact("duplicates", c.duplicates, "packets", c.requests);
  summary.fact("bad_data", t.bad_data, "messages");
  return summary;
}

Group bandwidth_group(const PeerBandwidth &b) {
  return {{{"size", "bytes of a message", Format::Count}, b.size},
          {{"iterations", "messages of a QP", Format::Count}, b.iterations},
          {{"peak_mib_per_second", "peak, MiB/s", Format::Rate, Hide::Zero}, measured(b.peak_mb)},
          {{"average_mib_per_second", "average, MiB/s", Format::Rate}, measured(b.average_mb)},
          {{"million_messages_per_second", "million messages/s"}, measured(b.message_rate)}};
}

Group latency_group(const PeerLatency &l) {
  return {{{"count", "messages", Format::Count}, l.count},
          {{"min_us", "t_min, us"}, rounded(l.min_us)},
          {{"max_us", "t_max, us"}, rounded(l.max_us)},
          {{"typical_us", "t_typical, us"}, rounded(l.typical_us)},
          {{"average_us", "t_avg, us"}, rounded(l.average_us)},
          {{"stdev_us", "t_stdev, us"}, rounded(l.stdev_us)},
          {{"p99_us", "99 %, us"}, rounded(l.p99_us)},
          {{"p999_us", "99.9 %, us"}, rounded(l.p999_us)}};
}

// A row for each size.
Section sizes_section(const PeerTest &t) {
  Rows rows;
  for (size_t i = 0; i < t.sizes.size(); i++) {
    const PeerBandwidth &b = t.sizes[i];
    const PeerLatency *l = i < t.size_latencies.size() ? &t.size_latencies[i] : nullptr;
    rows.push_back({b.size, b.iterations, measured(b.average_mb), measured(b.message_rate),
                    l ? Value{rounded(l->typical_us)} : Value{},
                    l ? Value{rounded(l->p99_us)} : Value{}});
  }
  return hidden_when_zero("sizes", "",
                          make_table({{"size", "SIZE", Format::Count},
                                      {"iterations", "MESSAGES", Format::Count},
                                      {"average_mib_per_second", "MiB/s", Format::Rate},
                                      {"million_messages_per_second", "M MESSAGES/s"},
                                      {"typical_us", "TYPICAL, us"},
                                      {"p99_us", "99 %, us"}},
                                     std::move(rows)));
}

} // namespace

Document peer_document(const PeerReport &r) {
  const PeerTest &t = r.test;
  Document document = begin_run("peer", r.ifname, t.seconds);
  add_summary(document, peer_summary(r));
  auto &s = document.sections;
  s.push_back(port_section(r));
  add_processors(s, r.processors);
  s.push_back(
      {"test", "TEST",
       Group{{{"tool", "tool"}, t.tool},
             {{"role", "this side is"}, std::string(t.client ? "client" : "server")},
             {{"peer", "other side"}, t.peer},
             {{"version", "which says version", Format::Text, Hide::Zero}, known(t.version)},
             {{"gid", "GID here", Format::Text, Hide::Zero}, known(r.gid)},
             {{"transport", "transport", Format::Text, Hide::Zero}, known(t.transport)},
             {{"cm", "by RDMA CM", Format::Text, Hide::Zero}, t.cm},
             count("qps", "QPs", t.qps),
             count("pmtu", "PMTU", t.pmtu),
             {{"finished", "finished"}, t.failure.empty()},
             {{"failure", "because", Format::Text, Hide::Zero}, known(t.failure)},
             count("sent", "messages sent", t.sent),
             count("arrived", "messages arrived", t.arrived),
             lost("bad_data", "with wrong data", t.bad_data)}});
  s.push_back(sizes_section(t));
  if (t.latency)
    s.push_back({"latency", "LATENCY, ONE WAY WHERE BOTH SEND", latency_group(*t.latency)});
  if (t.bandwidth.size)
    s.push_back({"bandwidth", "BANDWIDTH", bandwidth_group(t.bandwidth)});
  if (t.theirs)
    s.push_back({"theirs", "WHAT THE OTHER SIDE REPORTED", bandwidth_group(*t.theirs)});
  const RespondCounts &c = t.respond_counts;
  s.push_back(hidden_when_zero(
      "received", "ITS REQUESTS",
      Group{count("requests", "packets", c.requests), count("in_order", "in order", c.in_order),
            count("out_of_order", "out of order", c.out_of_order, Hide::Zero, Tone::Alarm),
            count("duplicates", "sent again", c.duplicates), count("ce", "marked CE", c.ce),
            count("acks", "ACKs sent", c.acks), count("naks", "NAKs sent", c.naks),
            count("rnr_naks", "RNR NAKs sent", c.rnr_naks),
            count("read_responses", "READ responses sent", c.read_responses),
            count("atomic_acks", "ATOMIC ACKs sent", c.atomic_acks),
            count("cnps", "CNPs sent", c.cnps)}));
  s.push_back(hidden_when_zero(
      "refused", "REFUSED",
      Group{lost("bad_icrc", "bad iCRC", c.bad_icrc),
            lost("invalid", "invalid requests, answered by NAK", c.invalid),
            lost("bad_rkey", "wrong R_Key, answered by NAK", c.bad_rkey),
            lost("out_of_bounds", "outside the memory, answered by NAK", c.out_of_bounds),
            lost("no_qp", "for unknown QPNs", c.no_qp),
            lost("cm_rejected", "RDMA CM requests rejected", c.cm_rejected)}));
  const PeerReaction &re = t.reaction;
  s.push_back(hidden_when_zero(
      "reaction", "ITS REACTION",
      Group{count("answer_faults", "faults of our answers", re.faults),
            count("rounds", "times it sent again", re.rounds),
            {{"first_ms", "first, ms after the first fault", Format::Rate, Hide::Zero},
             rounded(re.first_ms)},
            {{"last_ms", "last", Format::Rate, Hide::Zero}, rounded(re.last_ms)}}));
  add_sent(s, t.sent_counts);
  add_pauses(s, r.pauses);
  s.push_back(engine_overflow(
      r.engine,
      {lost("answers_dropped", "requests dropped: the reply queue was full", c.answers_dropped)}));
  return document;
}

} // namespace xr::report
