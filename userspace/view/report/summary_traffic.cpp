// SPDX-License-Identifier: Apache-2.0
// The answer of `analyze`, `counters`, `streams` and `episodes`.
#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "report/phrases.h"
#include "report/sampled_mirrors.h"
#include "report/stream_columns.h"
#include "report/summary.h"
#include "report/sums.h"
#include "report/tunnels.h"

namespace xr::report {

namespace {

constexpr size_t kNamedQps = 3; // more are counted

// How causes of episodes are called in a sentence, by enum roce_cause.
constexpr std::array<const char *, ROCE_CAUSES> kCauses = {
    "its cause is not known",   "a NAK", "the implied NAK of a READ", "a timeout", "an RNR NAK",
    "packets that passed twice"};

// What a cause is called where a timer had to do what it asks for.
constexpr std::array<const char *, ROCE_CAUSES> kUnheeded = {
    "it", "its NAK", "the implied NAK of its READ", "it", "its RNR NAK", "it"};

uint64_t since(uint64_t now, uint64_t before) { return now - std::min(now, before); }

// A stream that lost PSNs in the time of the report.
struct Loser {
  uint32_t qp = 0;
  uint64_t lost = 0;
};

// What the sentences are about, over the time of the report.
struct Traffic {
  uint64_t frames = 0, roce = 0;
  uint64_t data = 0;      // packets whose losses can be seen
  uint64_t datagrams = 0; // whose losses cannot
  uint64_t data_ce = 0, data_ect = 0;
  uint64_t cnps = 0, naks = 0, rnr_naks = 0;
  uint64_t xoffs = 0, paused_ns = 0;
  uint64_t streams = 0; // that have PSNs of their own
  uint64_t lost = 0, unsure = 0, hidden = 0, lost_after = 0;
  uint64_t missing = 0, again = 0, reordered = 0, rewinds = 0;
  bool at_least = false; // restarted: what else was lost is not known
  uint64_t unfollowed = 0;
  uint64_t mirrors = 0, sampled = 0; // sessions; of these, that look sampled
  std::vector<Loser> losers;

  uint64_t most() const { return lost + unsure + hidden; }
};

void add_packets(Traffic &traffic, const Sums &now, const Sums &before) {
  const auto of = [&](PacketKind kind) {
    return since(now.kinds[static_cast<size_t>(kind)], before.kinds[static_cast<size_t>(kind)]);
  };
  const auto ecn = [&](size_t codepoint) {
    const auto data = static_cast<size_t>(PacketKind::Data);
    return since(now.kinds_ecn[data][codepoint], before.kinds_ecn[data][codepoint]);
  };
  traffic.frames = since(now.frames, before.frames);
  traffic.roce = since(now.v2.packets + now.v1.packets, before.v2.packets + before.v1.packets);
  traffic.data = of(PacketKind::Data);
  traffic.datagrams = of(PacketKind::Datagram);
  traffic.cnps = of(PacketKind::Cnp);
  traffic.data_ce = ecn(ROCE_ECN_CE);
  traffic.data_ect = ecn(1) + ecn(2) + ecn(ROCE_ECN_CE);
}

void add_totals(Traffic &traffic, const Snapshot &now, const Snapshot *before) {
  const auto of = [&](auto member) {
    return since(member(now.totals), before ? member(before->totals) : 0);
  };
  for (unsigned i = 0; i < ROCE_AETH_COUNTS; i++) {
    const uint64_t packets = of([i](const roce_totals &t) { return t.aeth[i]; });
    if (i == ROCE_AETH_RNR_NAK)
      traffic.rnr_naks += packets;
    else if (i != ROCE_AETH_ACK && i != ROCE_AETH_RESERVED)
      traffic.naks += packets;
  }
  for (unsigned i = 0; i < ROCE_PFC_COUNTS; i++) {
    traffic.xoffs += of([i](const roce_totals &t) { return t.pfc_xoff[i]; });
    traffic.paused_ns += since(now.pfc[i].paused_ns, before ? before->pfc[i].paused_ns : 0);
  }
  traffic.unfollowed =
      of([](const roce_totals &t) { return t.streams_full + t.streams_contended; });
}

void add_streams(Traffic &traffic, const Snapshot &now, const Snapshot *before) {
  std::optional<StreamIndex> earlier;
  if (before)
    earlier.emplace(*before);
  for (uint32_t i = 0; i < now.streams.size(); i++) {
    const roce_stream &stream = now.streams[i];
    if (!(stream.flags & ROCE_STREAM_STARTED))
      continue;
    const roce_stream *then = earlier ? earlier->find(stream, i) : nullptr;
    const auto of = [&](auto number) { return since(number(stream), then ? number(*then) : 0); };
    const auto counter = [&](int which) {
      return of([which](const roce_stream &s) { return roce_stream_counter(&s, which); });
    };
    traffic.streams++;
    const uint64_t lost = of(lost_psns);
    traffic.lost += lost;
    const uint64_t unsure = of(lost_unsure_psns);
    traffic.unsure += unsure;
    if (lost)
      traffic.hidden +=
          hidden_losses(of(go_backs), lost + unsure,
                        of([](const roce_stream &s) { return roce_stream_packets(&s); }));
    traffic.lost_after += of(lost_after);
    traffic.missing += of(missing_psns);
    traffic.again += of(sent_again);
    traffic.reordered += of(reordered_psns);
    if (roce_key_kind(&stream.key) == ROCE_KIND_REQUEST)
      traffic.rewinds += counter(ROCE_REWINDS);
    traffic.at_least = traffic.at_least || counter(ROCE_RESYNCS);
    if (lost)
      traffic.losers.push_back({roce_key_qp(&stream.key), lost});
  }
  std::stable_sort(traffic.losers.begin(), traffic.losers.end(),
                   [](const Loser &a, const Loser &b) { return a.lost > b.lost; });
}

Traffic traffic_of(const Moment &moment) {
  Traffic traffic;
  add_packets(traffic, Sums(moment.now), Sums(moment.before ? *moment.before : Snapshot{}));
  add_totals(traffic, moment.now, moment.before);
  add_streams(traffic, moment.now, moment.before);
  const std::vector<bool> sampled = sampled_mirrors(moment.now);
  traffic.mirrors = sampled.size();
  traffic.sampled = static_cast<uint64_t>(std::ranges::count(sampled, true));
  return traffic;
}

// "all of QP 0x11 and 0x13", or the QP that lost most.
std::string whose(const Traffic &t) {
  std::vector<std::string> qps;
  for (const Loser &loser : t.losers)
    if (const std::string qp = qp_words(loser.qp); std::ranges::find(qps, qp) == qps.end())
      qps.push_back(qp);
  if (qps.size() <= kNamedQps)
    return "all of QP " + listed(qps);
  return fmt::format("in {}, most ({}) of QP {}", counted(t.losers.size(), "stream"),
                     number_words(t.losers[0].lost), qps[0]);
}

// Whether packets of the peer come back to the sender of a stream; `answers`: such as answer.
bool comes_back(const Snapshot &s, const roce_key &key, bool answers) {
  return std::ranges::any_of(s.streams, [&](const roce_stream &stream) {
    return std::equal(std::begin(key.src), std::end(key.src), std::begin(stream.key.dst)) &&
           std::equal(std::begin(key.dst), std::end(key.dst), std::begin(stream.key.src)) &&
           (!answers || roce_key_kind(&stream.key) == ROCE_KIND_RESPONSE);
  });
}

// The missing PSNs that a mirror did not send; "" without mirror sessions.
std::string mirror_words(const Snapshot &s) {
  if (s.mirrors.empty())
    return "";
  const MissingPsns missing(s);
  std::array<uint64_t, 3> sums{};
  for (uint32_t i = 0; i < s.streams.size(); i++)
    for (size_t column = 0; column < sums.size(); column++)
      sums[column] += number_of(missing.cell(i, column));
  if (!sums[1] && !sums[2])
    return "";
  return fmt::format("; of {} that never came, the network lost {}, the mirror {}, and of {} it is "
                     "not known",
                     number_words(sums[0] + sums[1] + sums[2]), number_words(sums[0]),
                     number_words(sums[1]), number_words(sums[2]));
}

// What makes the number of losses uncertain, as the end of their sentence.
std::string doubts(const Traffic &t, const Snapshot &s) {
  std::string words = t.sampled ? "" : mirror_words(s);
  if (s.notes.dropped)
    words += fmt::format("; the capture itself dropped {}, which look{} lost here",
                         counted(s.notes.dropped, "packet"), s.notes.dropped == 1 ? "s" : "");
  if (t.unfollowed)
    words +=
        fmt::format("; {} had no room in the table of streams", counted(t.unfollowed, "packet"));
  return words;
}

// QP pairs whose requests nothing answered; without `episodes` only those of hosts from which no
// answer is in the capture at all.
std::vector<UnansweredRow> unanswered_in(const Snapshot &s, const Episodes *episodes) {
  if (episodes)
    return unanswered(*episodes);
  std::vector<UnansweredRow> all;
  for (const roce_stream &stream : s.streams) {
    const uint64_t packets = roce_stream_packets(&stream);
    const uint64_t once = packets - std::min(packets, sent_again(stream));
    if (s.source == Snapshot::Source::Interface || of_uc(stream) ||
        roce_key_kind(&stream.key) != ROCE_KIND_REQUEST || !once || packets < 3 * once ||
        comes_back(s, stream.key, true))
      continue;
    all.push_back({{stream.key, {}},
                   true,
                   stream.first_psn,
                   static_cast<uint32_t>(once),
                   once,
                   packets / once});
  }
  return all;
}

std::string unanswered_words(const Snapshot &s, const UnansweredRow &row) {
  const std::string qp = "QP " + qp_words(roce_key_qp(&row.name.key));
  if (row.silent)
    return fmt::format("{}: nothing came back, {} sent {}: the peer is silent{}.", qp,
                       row.packets == 1 ? fmt::format("PSN {} was", row.psn)
                                        : counted(row.packets, "packet") + " were",
                       counted(row.times, "time"),
                       comes_back(s, row.name.key, false)
                           ? " on it, as other packets of that host pass here"
                           : ", or this tap sees one direction only");
  return fmt::format("{}: {} sent {} and never answered.", qp,
                     row.psns == 1 ? fmt::format("PSN {} was", row.psn)
                                   : fmt::format("{} PSNs from {} on were", row.psns, row.psn),
                     counted(row.times, "time"));
}

std::string unanswered_sentence(const Snapshot &s, const std::vector<UnansweredRow> &rows) {
  std::string text;
  for (size_t i = 0; i < std::min(rows.size(), kNamedQps); i++)
    text += (i ? " " : "") + unanswered_words(s, rows[i]);
  return rows.size() > kNamedQps ? fmt::format("{} So it is with {} more.", text,
                                               counted(rows.size() - kNamedQps, "QP"))
                                 : text;
}

// What a NAK asked for had passed here.
std::string after_words(const Traffic &t, const char *place) {
  if (!t.lost_after)
    return "";
  return fmt::format(" At least {} {} lost after this {}: a NAK requested what had passed here.",
                     counted(t.lost_after, "packet"), t.lost_after == 1 ? "was" : "were", place);
}

std::string nothing_lost(const Traffic &t, const char *place, bool unanswered) {
  const char *passed = unanswered     ? "No PSN is missing before this "
                       : t.lost_after ? "Nothing lost before this "
                                      : "Nothing lost";
  return fmt::format("{}{}: {}, {}{}", passed, unanswered || t.lost_after ? place : "",
                     counted(t.streams, "stream"), counted(t.data, "packet"),
                     unanswered ? "" : ", no PSN missing");
}

std::string number_lost(const Traffic &t, const char *place) {
  const uint64_t most = t.most(), sent = t.data + t.lost;
  if (!t.lost)
    return fmt::format("Nothing is certainly lost before this {}: {}, {}; up to {} were lost, or "
                       "came late",
                       place, counted(t.streams, "stream"), counted(t.data, "packet"),
                       number_words(most));
  if (most > t.lost) {
    const std::string from = percent(t.lost, sent), to = percent(most, sent);
    return fmt::format("Between {} and {} of {} ({}) were lost before this {}, {}",
                       number_words(t.lost), number_words(most), counted(sent, "data packet"),
                       from == to ? from : from + " to " + to, place, whose(t));
  }
  return fmt::format("{}{} of {} ({}) {} lost before this {}, {}", t.at_least ? "At least " : "",
                     number_words(t.lost), counted(sent, "data packet"), percent(t.lost, sent),
                     t.lost == 1 ? "was" : "were", place, whose(t));
}

// A session that samples numbers only what it sends.
std::string sampled_words(const Traffic &t) {
  return fmt::format("{} sampled, so that losses are not known: {}, {} came",
                     t.mirrors == 1
                         ? "The mirror session looks"
                         : fmt::format("{} of {} mirror sessions look", t.sampled, t.mirrors),
                     counted(t.streams, "stream"), counted(t.data, "packet"));
}

std::string loss_sentence(const Traffic &t, const Snapshot &s, bool unanswered) {
  if (!t.roce)
    return fmt::format("No RoCE packets in {}.", counted(t.frames, "frame"));
  if (!s.tracked)
    return fmt::format("{}; losses are not known, as streams are not tracked (--no-track).",
                       counted(t.roce, "RoCE packet"));
  if (!t.streams)
    return t.datagrams ? fmt::format("{} of {} are datagrams, which have no PSN sequence by which "
                                     "a loss is seen.",
                                     number_words(t.datagrams), counted(t.roce, "RoCE packet"))
                       : fmt::format("{}, none with data: no loss can be seen.",
                                     counted(t.roce, "RoCE packet"));
  const char *place = s.source == Snapshot::Source::Interface ? "port" : "tap";
  if (t.sampled)
    return sampled_words(t) + doubts(t, s) + "." + after_words(t, place);
  return (t.most() ? number_lost(t, place) : nothing_lost(t, place, unanswered)) + doubts(t, s) +
         "." + after_words(t, place);
}

// Go-backs and what they cost; "": there were none.
std::string again_words(const Traffic &t) {
  if (t.rewinds)
    return fmt::format("{} cost {} sent again", counted(t.rewinds, "go-back"),
                       counted(t.again, "packet"));
  if (t.again)
    return counted(t.again, "packet") + " came a second time";
  return "";
}

std::string recovery_words(const Episodes &episodes) {
  const auto [row, ns] = longest_recovery(episodes);
  if (!row)
    return "";
  const size_t cause = row->episode.cause % ROCE_CAUSES;
  return row->by_timer
             ? fmt::format("the longest recovery took {}: {} brought no answer, a timer "
                           "did",
                           time_words(ns), kUnheeded[cause])
             : fmt::format("the longest recovery took {} ({})", time_words(ns), kCauses[cause]);
}

std::string findings_words(const Episodes &episodes) {
  return episodes.findings.empty()
             ? ""
             : counted(episodes.findings.size(), "finding") + " about peers (FINDINGS)";
}

// One sentence of several parts; "" if all are empty.
std::string sentence(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    if (!part.empty())
      text += (text.empty() ? "" : "; ") + part;
  if (text.empty())
    return text;
  text[0] = static_cast<char>(toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

std::string recovery_sentence(const Traffic &t, uint64_t icrc_bad, const Episodes *episodes) {
  std::vector<std::string> parts = {again_words(t)};
  if (episodes) {
    parts.push_back(recovery_words(*episodes));
    parts.push_back(findings_words(*episodes));
  }
  if (t.reordered)
    parts.push_back(counted(t.reordered, "packet") + " came late, reordered");
  if (icrc_bad)
    parts.push_back(counted(icrc_bad, "packet has a wrong iCRC", "packets have a wrong iCRC") +
                    ": a receiver drops such");
  if (t.rnr_naks)
    parts.push_back(counted(t.rnr_naks, "RNR NAK"));
  if (t.naks)
    parts.push_back(counted(t.naks, "NAK"));
  return sentence(parts);
}

std::string congestion_sentence(const Traffic &t) {
  std::vector<std::string> parts;
  if (t.data_ce)
    parts.push_back(fmt::format("{} of {} ({}) {} marked CE", number_words(t.data_ce),
                                counted(t.data, "data packet"), percent(t.data_ce, t.data),
                                t.data_ce == 1 ? "is" : "are"));
  if (t.cnps)
    parts.push_back(counted(t.cnps, "CNP"));
  if (t.xoffs)
    parts.push_back("PFC or PAUSE: " + counted(t.xoffs, "XOFF") +
                    (t.paused_ns ? ", paused for " + time_words(t.paused_ns) : ""));
  return sentence(parts);
}

void add_facts(Summary &summary, const Traffic &t, const Episodes *episodes) {
  summary.fact("streams", t.streams, "streams");
  const auto unless_sampled = [&t](uint64_t number) { return t.sampled ? Value{} : Value{number}; };
  summary.fact("lost", unless_sampled(t.lost), "packets", t.data + t.lost);
  summary.fact("lost_most", unless_sampled(t.most()), "packets", t.data + t.lost);
  summary.fact("lost_after", t.lost_after, "packets");
  summary.fact("missing", unless_sampled(t.missing), "packets");
  summary.fact("go_backs", t.rewinds, "");
  summary.fact("sent_again", t.again, "packets", t.data);
  summary.fact("reordered", t.reordered, "packets", t.data);
  if (episodes) {
    const auto [row, ns] = longest_recovery(*episodes);
    summary.fact("longest_recovery", row ? Value{ns} : Value{}, "ns");
    summary.fact("findings", uint64_t{episodes->findings.size()}, "");
  }
  summary.fact("naks", t.naks, "packets");
  summary.fact("rnr_naks", t.rnr_naks, "packets");
  summary.fact("ce", t.data_ce, "packets", t.data);
  summary.fact("ect", t.data_ect, "packets", t.data);
  summary.fact("cnps", t.cnps, "packets");
  summary.fact("xoffs", t.xoffs, "frames");
  summary.fact("not_followed", t.unfollowed, "packets");
}

} // namespace

Summary checks_summary(const std::vector<SetupCheck> &checks) {
  std::array<std::vector<std::string>, std::size(kCheckStatusNames)> names;
  for (const SetupCheck &check : checks)
    names[static_cast<size_t>(check.status)].push_back(check.name);
  const auto of = [&](SetupCheck::Status status) -> const std::vector<std::string> & {
    return names[static_cast<size_t>(status)];
  };
  std::vector<std::string> parts;
  if (const auto &failed = of(SetupCheck::Status::Fail); !failed.empty())
    parts.push_back(fmt::format("{} fail{} ({})", failed.size(), failed.size() == 1 ? "s" : "",
                                listed(failed)));
  if (const auto &warned = of(SetupCheck::Status::Warn); !warned.empty())
    parts.push_back(fmt::format("{} warn{} ({})", warned.size(), warned.size() == 1 ? "s" : "",
                                listed(warned)));
  if (const size_t ok = of(SetupCheck::Status::Ok).size())
    parts.push_back(fmt::format("{} {} ok", ok, ok == 1 ? "is" : "are"));
  if (const size_t unknown = of(SetupCheck::Status::Unknown).size())
    parts.push_back(fmt::format("{} cannot be decided here", unknown));
  Summary summary;
  summary.sentences.push_back(
      fmt::format("Of {}: {}.", counted(checks.size(), "check"), listed(parts)));
  for (const auto status : {SetupCheck::Status::Fail, SetupCheck::Status::Warn,
                            SetupCheck::Status::Ok, SetupCheck::Status::Unknown})
    summary.fact(fmt::format("checks_{}", kCheckStatusNames[static_cast<size_t>(status)]).c_str(),
                 uint64_t{of(status).size()}, "checks", uint64_t{checks.size()});
  return summary;
}

Summary traffic_summary(const Moment &moment, const Episodes *episodes,
                        const std::vector<SetupCheck> &checks) {
  const Traffic traffic = traffic_of(moment);
  Summary summary;
  const std::vector<UnansweredRow> silent = unanswered_in(moment.now, episodes);
  for (const std::string &text :
       {unanswered_sentence(moment.now, silent),
        loss_sentence(traffic, moment.now, !silent.empty()),
        recovery_sentence(traffic, moment.now.icrc.bad, episodes), congestion_sentence(traffic)})
    if (!text.empty())
      summary.sentences.push_back(text);
  add_facts(summary, traffic, episodes);
  summary.fact("unanswered", uint64_t{silent.size()}, "QPs");
  summary.fact("icrc_bad", moment.now.icrc.bad, "packets", moment.now.icrc.checked);
  if (!checks.empty()) {
    Summary verdict = checks_summary(checks);
    std::ranges::move(verdict.sentences, std::back_inserter(summary.sentences));
    std::ranges::move(verdict.facts, std::back_inserter(summary.facts));
  }
  return summary;
}

Summary episodes_summary(const Episodes &episodes) {
  std::array<uint64_t, ROCE_CAUSES> causes{};
  uint64_t resent = 0;
  for (const EpisodeRow &row : episodes.episodes) {
    causes[row.episode.cause % ROCE_CAUSES]++;
    resent += row.episode.resent_packets;
  }
  const uint64_t all = episodes.episodes.size();
  std::vector<std::string> by_cause;
  for (size_t cause = 1; cause <= causes.size(); cause++)
    if (const uint64_t n = causes[cause % ROCE_CAUSES])
      by_cause.push_back(fmt::format("{} ({})", number_words(n), kCauseNames[cause % ROCE_CAUSES]));
  Summary summary;
  const std::string what =
      all ? fmt::format("{}: {}, {} sent again", counted(all, "episode"), listed(by_cause),
                        counted(resent, "packet"))
          : "no requester went back: " + counted(episodes.pairs.size(), "QP pair") + " followed";
  summary.sentences.push_back(sentence({what, recovery_words(episodes), findings_words(episodes)}));
  summary.fact("episodes", all, "");
  for (size_t cause = 1; cause <= causes.size(); cause++)
    summary.fact(kCauseNames[cause % ROCE_CAUSES], causes[cause % ROCE_CAUSES], "episodes", all);
  summary.fact("sent_again", resent, "packets");
  const auto [row, ns] = longest_recovery(episodes);
  summary.fact("longest_recovery", row ? Value{ns} : Value{}, "ns");
  summary.fact("findings", uint64_t{episodes.findings.size()}, "");
  return summary;
}

} // namespace xr::report
