// SPDX-License-Identifier: Apache-2.0
#include "report/episodes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/names.h"

namespace xr::report {

namespace {

constexpr std::array<const char *, ROCE_CAUSES> kCauses = {"unknown", "nak", "read",
                                                           "timeout", "rnr", "duplicate"};
constexpr std::array<const char *, ROCE_FINDINGS> kFindings = {
    "repeated_nak", "nak_without_gap", "wrong_psn_resumed", "ack_beyond",
    "msn_wrong",    "ce_without_cnp",  "cnp_without_ce"};

Value qp_of(const PairName &name) { return name.src_qp ? Value{uint64_t{*name.src_qp}} : Value{}; }

// Time since the capture's first frame.
Value at(uint64_t ns, uint64_t first) { return ns ? Value{ns - std::min(first, ns)} : Value{}; }

// Nanoseconds between two moments; unknown if one did not happen or came first.
Value between(uint64_t from, uint64_t to) {
  return from && to >= from ? Value{to - from} : Value{};
}

// 0 is unknown.
Value known(uint64_t ns) { return ns ? Value{ns} : Value{}; }

Value microseconds(const Value &ns) {
  const uint64_t *number = std::get_if<uint64_t>(&ns);
  return number ? Value{static_cast<double>(*number) / 1000} : Value{};
}

// Whether the network lost it: the receiver missed it too, or it was missing here and came again.
const char *where_of(const roce_episode &e) {
  if (e.cause == ROCE_CAUSE_NAK || e.cause == ROCE_CAUSE_READ)
    return "network";
  return e.cause == ROCE_CAUSE_TIMEOUT && e.missing ? "network" : "unknown";
}

StringList findings_of(const roce_episode &e) {
  StringList names;
  for (unsigned type = 0; type < ROCE_FINDINGS; type++)
    if (e.findings & 1u << type)
      names.emplace_back(kFindings[type]);
  return names;
}

std::string text_of(const roce_finding &f) {
  switch (f.type) {
  case ROCE_FINDING_REPEATED_NAK:
    return fmt::format("a second NAK for PSN {} before it arrived", f.psn);
  case ROCE_FINDING_NAK_WITHOUT_GAP:
    return fmt::format("a NAK for PSN {}, after which nothing had been sent, or which was "
                       "acknowledged",
                       f.psn);
  case ROCE_FINDING_WRONG_PSN:
    return fmt::format("resumed at PSN {}, the NAK asked for {}", f.value, f.psn);
  case ROCE_FINDING_ACK_BEYOND:
    return fmt::format("an ACK for PSN {}, which was sent after it", (f.psn - 1) & ROCE_PSN_MASK);
  case ROCE_FINDING_CE_WITHOUT_CNP:
    return fmt::format("{} requests were marked CE, and their receiver sent no CNP", f.value);
  case ROCE_FINDING_CNP_WITHOUT_CE:
    return "a CNP, and no packet of its QP was marked CE here, nor refused";
  default:
    return fmt::format("MSN {} with PSN {}, {} expected", f.value, f.psn, f.expected);
  }
}

// A row's cells and columns are built together, so that they cannot disagree.
class Rows {
public:
  void begin() {
    rows_.emplace_back();
    column_ = 0;
  }
  void cell(const Column &column, Value value) {
    if (column_++ == columns_.size())
      columns_.push_back(column);
    rows_.back().push_back(std::move(value));
  }
  void name(const PairName &name) {
    cell({"src", "SOURCE"}, address(name.key.src));
    cell({"dst", "DESTINATION"}, address(name.key.dst));
    cell({"dest_qp", "DEST QP", Format::Qpn}, uint64_t{roce_key_qp(&name.key)});
    cell({"src_qp", "SRC QP", Format::Qpn}, qp_of(name));
  }
  void json(const char *key, Value value) {
    cell({key, "", Format::Number, Hide::Never, Tone::Plain, Where::Json}, std::move(value));
  }
  void text(const char *heading, Value value) {
    cell({heading, heading, Format::Number, Hide::Zero, Tone::Plain, Where::Text},
         std::move(value));
  }
  void count(const char *key, const char *heading, uint64_t value, Hide hide = Hide::Zero) {
    cell({key, heading, Format::Count, hide}, value);
  }
  // The columns of a table without rows are those of one that is taken away again.
  Table table(bool empty) {
    if (empty)
      rows_.clear();
    return make_table(std::move(columns_), std::move(rows_));
  }

private:
  std::vector<Column> columns_;
  std::vector<std::vector<Value>> rows_;
  size_t column_ = 0;
};

void add_row(Rows &rows, const EpisodeRow &row, uint64_t first) {
  const roce_episode &e = row.episode;
  const Value generation = between(e.seen_ns, e.cause == ROCE_CAUSE_NAK ? e.nak_ns : 0);
  const Value reaction =
      e.cause == ROCE_CAUSE_READ ? between(e.seen_ns, e.reread_ns) : between(e.nak_ns, e.resent_ns);
  const Value timeout = e.cause == ROCE_CAUSE_TIMEOUT
                            ? between(e.last_sent_ns, e.reread_ns ? e.reread_ns : e.resent_ns)
                            : Value{};
  uint64_t start = e.seen_ns;
  for (const uint64_t ns : {e.nak_ns, e.reread_ns, e.resent_ns})
    start = start ? start : ns;
  const Value recovery = between(start, e.recovered_ns);

  rows.begin();
  rows.text("AT ms",
            start ? Value{std::round(static_cast<double>(start - first) / 1000) / 1000} : Value{});
  rows.name(row.name);
  rows.cell({"kind", "KIND"}, kind_name(row.name.key));
  rows.cell({"cause", "CAUSE"},
            e.cause ? Value{std::string(kCauses[e.cause % ROCE_CAUSES])} : Value{});
  rows.cell({"where", "WHERE"}, std::string(where_of(e)));
  rows.cell({"first_missing_psn", "FIRST\nMISSING", Format::Number}, uint64_t{e.first_missing});
  rows.count("missing", "MISSING", e.missing, Hide::Never);
  rows.json("last_sent_ns", at(e.last_sent_ns, first));
  rows.json("seen_ns", at(e.seen_ns, first));
  rows.json("nak_ns", at(e.nak_ns, first));
  rows.json("reread_ns", at(e.reread_ns, first));
  rows.json("resent_ns", at(e.resent_ns, first));
  rows.json("recovered_ns", at(e.recovered_ns, first));
  rows.json("nak_generation_ns", generation);
  rows.json("nak_reaction_ns", reaction);
  rows.json("timeout_ns", timeout);
  rows.json("recovery_ns", recovery);
  rows.text("NAK us", microseconds(generation));
  rows.text("REACTION\nus", microseconds(reaction));
  rows.text("TIMEOUT\nus", microseconds(timeout));
  rows.text("RECOVERY\nus", microseconds(recovery));
  rows.count("resent_packets", "RESENT", e.resent_packets, Hide::Never);
  rows.count("resent_needlessly", "NEED-\nLESSLY", e.resent_needlessly, Hide::Never);
  rows.json("resent_bytes", e.resent_bytes);
  rows.json("naks", uint64_t{e.naks});
  rows.cell({"findings", "FINDINGS", Format::Text, Hide::Zero, Tone::Alarm}, findings_of(e));
}

void add_row(Rows &rows, const FindingRow &row, uint64_t first,
             const std::vector<std::string> &files) {
  const roce_finding &f = row.finding;
  rows.begin();
  rows.cell({"finding", "FINDING"}, std::string(kFindings[f.type % ROCE_FINDINGS]));
  rows.name(row.name);
  rows.cell({"psn", "PSN", Format::Number}, uint64_t{f.psn});
  rows.json("time_ns", at(f.time_ns, first));
  const uint64_t number = files.empty() ? ~uint64_t{0} : (uint64_t{1} << kFileShift) - 1;
  const auto file = [&](uint64_t frame) {
    return frame ? Value{files.at(frame >> kFileShift)} : Value{};
  };
  if (!files.empty())
    rows.cell({"file", "FILE"}, file(f.frame));
  rows.cell({"frame", "FRAME", Format::Number}, f.frame & number);
  if (!files.empty())
    rows.cell({"other_file", "OTHER\nFILE", Format::Text, Hide::Zero}, file(f.other_frame));
  rows.cell({"other_frame", "OTHER\nFRAME", Format::Number},
            f.other_frame ? Value{f.other_frame & number} : Value{});
  rows.cell({"text", "WHAT"}, text_of(f));
}

// How the requester sends again after NAKs: all, the missing only, or not seen.
Value retransmission_of(const PairRow &p) {
  if (p.go_backs)
    return std::string("go-back-n");
  return p.selective ? Value{std::string("selective")} : Value{};
}

Value retry_timer_of(const PairRow &p) {
  if (p.timers_grown)
    return std::string("growing");
  return p.timers_fixed ? Value{std::string("fixed")} : Value{};
}

void add_row(Rows &rows, const PairRow &p) {
  rows.begin();
  rows.name(p.name);
  rows.count("requests", "REQUESTS", p.requests, Hide::Never);
  rows.cell({"answers", "", Format::Text, Hide::Never, Tone::Plain, Where::Json}, p.answers);
  rows.count("naks", "NAKS", p.naks);
  for (unsigned cause = 1; cause <= ROCE_CAUSES; cause++)
    rows.count(kCauses[cause % ROCE_CAUSES], kCauses[cause % ROCE_CAUSES],
               p.causes[cause % ROCE_CAUSES]);
  rows.cell({"retransmission", "RETRANS-\nMISSION", Format::Text, Hide::Zero},
            retransmission_of(p));
  rows.cell({"retry_timer", "RETRY\nTIMER", Format::Text, Hide::Zero}, retry_timer_of(p));
  rows.count("acks", "ACKS", p.acks);
  rows.cell({"psns_per_ack", "PSNs\nPER ACK", Format::Rate, Hide::Zero},
            p.acks ? Value{std::round(static_cast<double>(p.acked_psns) /
                                      static_cast<double>(p.acks) * 1000) /
                           1000}
                   : Value{});
  rows.json("msn_unchecked", uint64_t{p.msn_unchecked});
  rows.count("ce", "CE", p.ce);
  rows.count("answers_ce", "ANSWERS\nCE", p.answers_ce);
  rows.count("cnps", "CNPS", p.cnps);
}

// The widest scope in which CNPs keep the distance that those to one QP keep; unknown if there were
// no two QPs and addresses to tell it by.
Value paced_by(const CnpRow &c) {
  const auto keeps = [&c](uint64_t ns) { return ns >= c.qp_ns - c.qp_ns / 5; };
  if (!c.qp_ns || c.qps < 2)
    return {};
  if (c.destinations > 1 && keeps(c.port_ns))
    return std::string("port");
  if (c.qps > c.destinations)
    return std::string(keeps(c.destination_ns) ? "destination" : "qp");
  return {};
}

void add_row(Rows &rows, const CnpRow &c) {
  const auto time = [&rows](const char *key, const char *heading, uint64_t ns) {
    rows.json(key, known(ns));
    rows.text(heading, microseconds(known(ns)));
  };
  rows.begin();
  rows.cell({"src", "SOURCE"}, address(c.src.data()));
  rows.count("cnps", "CNPS", c.cnps, Hide::Never);
  rows.count("qps", "QPS", c.qps);
  rows.count("destinations", "DESTI-\nNATIONS", c.destinations);
  time("interval_qp_ns", "QP us", c.qp_ns);
  time("interval_destination_ns", "DESTI-\nNATION us", c.destination_ns);
  time("interval_port_ns", "PORT us", c.port_ns);
  rows.cell({"paced_by", "PACED BY", Format::Text, Hide::Zero}, paced_by(c));
}

Section section(const char *key, const char *title, Table table, const char *none) {
  Section made{key, title, std::move(table)};
  made.note = none;
  return made;
}

} // namespace

void add_episodes(Document &document, const Episodes &found) {
  const uint64_t first = found.first_ns;
  Rows episodes, findings, pairs, cnps;
  for (const EpisodeRow &row : found.episodes)
    add_row(episodes, row, first);
  for (const FindingRow &row : found.findings)
    add_row(findings, row, first, found.files);
  for (const PairRow &row : found.pairs)
    add_row(pairs, row);
  for (const CnpRow &row : found.cnps)
    add_row(cnps, row);
  if (found.cnps.empty())
    add_row(cnps, CnpRow{});
  if (found.episodes.empty())
    add_row(episodes, EpisodeRow{}, first);
  if (found.findings.empty())
    add_row(findings, FindingRow{}, first, found.files);
  if (found.pairs.empty())
    add_row(pairs, PairRow{});
  document.sections.push_back(section("episodes", "EPISODES",
                                      episodes.table(found.episodes.empty()),
                                      "no episodes: no requester went back"));
  document.sections.push_back(
      section("findings", "FINDINGS", findings.table(found.findings.empty()), "no findings"));
  document.sections.push_back(
      section("pairs", "FOLLOWED", pairs.table(found.pairs.empty()), "no requests of RC or XRC"));
  Section pacing =
      section("cnp_pacing", "LEAST TIME BETWEEN CNPS", cnps.table(found.cnps.empty()), "");
  pacing.hide = Hide::Zero;
  document.sections.push_back(std::move(pacing));
  Section lost_section{
      "following", "NOT FOLLOWED",
      Group{count("unpaired", "answers whose requests are not known", found.unpaired),
            lost("pairs", "packets of QP pairs beyond 262,144", found.pairs_full),
            lost("episodes", "episodes beyond 1,048,576", found.episodes_dropped),
            lost("findings", "findings beyond 1,048,576", found.findings_dropped),
            lost("cnps", "CNPs to QPs beyond 65,536", found.cnps_forgotten),
            lost("holes", "gaps beyond 16 at a time", found.holes_forgotten)}};
  lost_section.hide = Hide::Zero;
  document.sections.push_back(std::move(lost_section));
}

} // namespace xr::report
