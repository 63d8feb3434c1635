// SPDX-License-Identifier: Apache-2.0
// The answers of `send`, `respond` and `link show`.
#include <algorithm>

#include <fmt/format.h>

#include "report/cells.h"
#include "report/phrases.h"
#include "report/runs.h"
#include "report/summary.h"

namespace xr::report {

namespace {

std::string per_second(uint64_t number, double seconds) {
  return seconds > 0 ? number_words(static_cast<uint64_t>(static_cast<double>(number) / seconds))
                     : "-";
}

std::string seconds_words(double seconds) {
  return time_words(static_cast<uint64_t>(seconds * 1e9));
}

// Frames that this machine lost on either way.
uint64_t lost_here(const EngineCounts &e) {
  const SocketCounts &s = e.socket;
  return s.rx_ring_full + s.rx_no_chunk + s.rx_dropped + s.tx_invalid + s.tx_dropped + e.not_sent +
         e.too_long;
}

void add_lost_here(Summary &summary, const EngineCounts &engine) {
  if (const uint64_t lost = lost_here(engine))
    summary.sentences.push_back(
        fmt::format("{} were lost on this machine (LOST HERE).", counted(lost, "frame")));
  summary.fact("lost_here", lost_here(engine), "frames");
}

// How far it got: messages where they are acknowledged, packets elsewhere.
std::string sent_sentence(const SendReport &r) {
  const SendCounts &c = r.counts;
  if (r.kind == SendReport::Kind::Pfc)
    return fmt::format("Sent {} in {}.", counted(r.engine.sent, "frame"), seconds_words(r.seconds));
  if (r.kind != SendReport::Kind::Reliable)
    return fmt::format("Sent {} in {}, {} packets/s; what arrived is not known here.",
                       counted(r.engine.sent, "packet"), seconds_words(r.seconds),
                       per_second(r.engine.sent, r.seconds));
  const std::string rate =
      r.seconds > 0 ? rate_words(static_cast<double>(c.message_bytes) * 8 / r.seconds) : "-";
  if (r.expected)
    return fmt::format("{} {} completed in {}, {} of payload.",
                       c.messages == r.expected ? "All" : number_words(c.messages) + " of",
                       counted(r.expected, "message"), seconds_words(r.seconds), rate);
  return fmt::format("{} completed in {}, {} of payload.", counted(c.messages, "message"),
                     seconds_words(r.seconds), rate);
}

std::string trouble_sentence(const SendReport &r) {
  const SendCounts &c = r.counts;
  std::vector<std::string> parts;
  const auto say = [&parts](uint64_t number, const char *one, const char *many = "") {
    if (number)
      parts.push_back(counted(number, one, many));
  };
  say(c.failed_qps, "QP failed", "QPs failed");
  say(c.retransmitted, "packet was sent again", "packets were sent again");
  say(c.timeouts, "timeout");
  say(c.naks, "NAK");
  say(c.rnr_naks, "RNR NAK");
  say(c.invalid_naks + c.access_naks + c.operational_naks, "NAK that ends a QP",
      "NAKs that end a QP");
  say(c.cnps, "CNP");
  if (parts.empty())
    return r.kind == SendReport::Kind::Reliable
               ? "Nothing was sent again: no NAK, no timeout, no CNP."
               : "";
  return "On the way: " + listed(parts) + ".";
}

std::string refused_words(const RespondCounts &c) {
  std::vector<std::string> parts;
  const auto say = [&parts](uint64_t number, const char *what) {
    if (number)
      parts.push_back(fmt::format("{} {}", number_words(number), what));
  };
  say(c.out_of_order, "out of order");
  say(c.duplicates, "came twice");
  say(c.bad_icrc, "with a bad iCRC");
  say(c.invalid + c.bad_rkey + c.out_of_bounds + c.no_access, "refused by a NAK that ends the QP");
  say(c.no_qp, "for unknown QPNs");
  say(c.ce, "marked CE");
  return listed(parts);
}

} // namespace

Summary send_summary(const SendReport &r) {
  Summary summary;
  summary.sentences.push_back(sent_sentence(r));
  if (const std::string trouble = trouble_sentence(r); !trouble.empty())
    summary.sentences.push_back(trouble);
  if (const std::string slow = shortfall(r); !slow.empty())
    summary.sentences.push_back("Too slow: " + slow + ".");
  summary.fact("packets", r.engine.sent, "packets");
  summary.fact("messages", r.counts.messages, "messages",
               r.kind == SendReport::Kind::Reliable ? known(r.expected) : Value{});
  summary.fact("sent_again", r.counts.retransmitted, "packets", r.engine.sent);
  summary.fact("timeouts", r.counts.timeouts, "");
  summary.fact("naks", r.counts.naks, "packets");
  summary.fact("cnps", r.counts.cnps, "packets");
  summary.fact("failed_qps", r.counts.failed_qps, "QPs");
  add_lost_here(summary, r.engine);
  return summary;
}

Summary respond_summary(const RespondReport &r) {
  const RespondCounts &c = r.counts;
  Summary summary;
  const uint64_t requests = c.requests;
  if (r.latency)
    summary.sentences.push_back(fmt::format("Received {} in {}; a sink answers nothing.",
                                            counted(r.engine.received, "frame"),
                                            seconds_words(r.seconds)));
  else if (!requests)
    summary.sentences.push_back(fmt::format("No request in {}; {} received.",
                                            seconds_words(r.seconds),
                                            counted(r.engine.received, "frame")));
  else
    summary.sentences.push_back(fmt::format(
        "{} in {} for {}; {} completed.", counted(requests, "request"), seconds_words(r.seconds),
        counted(c.qps, "connection"), counted(c.messages, "message")));
  if (const std::string refused = refused_words(c); !refused.empty())
    summary.sentences.push_back("Of the requests: " + refused + ".");
  else if (requests)
    summary.sentences.emplace_back("All in order, none refused.");
  summary.fact("requests", requests, "packets");
  summary.fact("out_of_order", c.out_of_order, "packets", requests);
  summary.fact("duplicates", c.duplicates, "packets", requests);
  summary.fact("messages", c.messages, "messages");
  summary.fact("naks", c.naks, "packets");
  summary.fact("ce", c.ce, "packets", requests);
  summary.fact("cnps", c.cnps, "packets");
  add_lost_here(summary, r.engine);
  return summary;
}

Summary link_summary(const WirePortReport &port) {
  Summary summary;
  if (port.link.empty()) {
    summary.sentences.push_back(
        fmt::format("{} has no link: frames leave by it without limits.", port.ifname));
    return summary;
  }
  const bool counted_yet = port.counts && port.counts->version && port.counts->link.started;
  if (!counted_yet) {
    summary.sentences.push_back(fmt::format("No frame has left by {}'s link yet.", port.ifname));
    return summary;
  }
  const LinkCounts &link = port.counts->link;
  const LinkClassCounts all = link.total();
  const uint64_t dropped = all.dropped();
  summary.sentences.push_back(
      dropped ? fmt::format("{} of {} ({}) {} dropped by {}'s link.", number_words(dropped),
                            counted(all.frames_in, "frame"), percent(dropped, all.frames_in),
                            dropped == 1 ? "was" : "were", port.ifname)
              : fmt::format("{}'s link dropped nothing of {}.", port.ifname,
                            counted(all.frames_in, "frame")));
  std::vector<std::string> parts;
  if (all.marks)
    parts.push_back(fmt::format("{} ({}) marked CE", number_words(all.marks),
                                percent(all.marks, all.frames_in)));
  if (link.sojourn.count())
    parts.push_back(fmt::format("half of the frames stayed up to {}, 99 % up to {}",
                                time_words(link.sojourn.quantile(0.5)),
                                time_words(link.sojourn.quantile(0.99))));
  if (link.paused_ns)
    parts.push_back("paused for " + time_words(link.paused_ns));
  if (!parts.empty())
    summary.sentences.push_back("Of those that left: " + listed(parts) + ".");
  summary.fact("dropped", dropped, "frames", all.frames_in);
  summary.fact("marked", all.marks, "frames", all.frames_in);
  summary.fact("sojourn_p99", link.sojourn.quantile(0.99), "ns");
  summary.fact("paused", link.paused_ns, "ns");
  return summary;
}

} // namespace xr::report
