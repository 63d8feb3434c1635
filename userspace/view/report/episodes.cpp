// SPDX-License-Identifier: Apache-2.0
#include "report/episodes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "model/episode_times.h"
#include "names/names.h"
#include "report/cells.h"
#include "report/sections.h"
#include "report/summary.h"

namespace xr::report {

namespace {

Value qp_of(const PairName &name) { return maybe(name.src_qp); }

// Time since the capture's first frame.
Value at(uint64_t ns, uint64_t first) { return ns ? Value{ns - std::min(first, ns)} : Value{}; }

Value paced_by(const CnpRow &row) {
  const char *scope = cnps_paced_by(row);
  return *scope ? Value{std::string(scope)} : Value{};
}

// 0 is unknown.

Value microseconds(const Value &ns) {
  const uint64_t *number = std::get_if<uint64_t>(&ns);
  return number ? Value{static_cast<double>(*number) / 1000} : Value{};
}

// Whether the network lost it: the receiver missed it too, or it was missing here and came again.
const char *where_of(const roce_episode &e) {
  if (e.corrupted)
    return "corrupted";
  if (e.cause == ROCE_CAUSE_NAK || e.cause == ROCE_CAUSE_READ)
    return "network";
  return e.cause == ROCE_CAUSE_TIMEOUT && e.missing ? "network" : "unknown";
}

// What made the requester send again; unknown: it did not, or it is not known.
Value ended_by(const EpisodeRow &row) {
  const roce_episode &e = row.episode;
  if (!e.resent_ns && !e.reread_ns)
    return {};
  if (row.by_timer || e.cause == ROCE_CAUSE_TIMEOUT)
    return std::string("timer");
  return e.cause == ROCE_CAUSE_UNKNOWN || e.cause == ROCE_CAUSE_DUPLICATE
             ? Value{}
             : Value{std::string(kCauseNames[e.cause % ROCE_CAUSES])};
}

StringList findings_of(const roce_episode &e) {
  StringList names;
  for (unsigned type = 0; type < ROCE_FINDINGS; type++)
    if (e.findings & 1u << type)
      names.emplace_back(kFindingNames[type]);
  return names;
}

// A row's cells and columns are built together, so that they cannot disagree.
class EpisodeRows {
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
    cell({"src", "SOURCE"}, names::address(name.key.src));
    cell({"dst", "DESTINATION"}, names::address(name.key.dst));
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
  void clear() { rows_.clear(); }
  Table table() { return make_table(std::move(columns_), std::move(rows_)); }

private:
  std::vector<Column> columns_;
  std::vector<std::vector<Value>> rows_;
  size_t column_ = 0;
};

// When it began: since the capture's first frame, or on a port the time of day.
void add_start(EpisodeRows &rows, uint64_t start, const Episodes &found) {
  if (found.realtime_offset_ns)
    rows.text("AT", start ? Value{names::local_time(start + found.realtime_offset_ns)} : Value{});
  else
    rows.text("AT ms",
              start ? Value{std::round(static_cast<double>(start - found.first_ns) / 1000) / 1000}
                    : Value{});
}

void add_row(EpisodeRows &rows, const EpisodeRow &row, const Episodes &found) {
  const uint64_t first = found.first_ns;
  const roce_episode &e = row.episode;
  const EpisodeTimes times = episode_times(e, row.by_timer);
  const Value generation = maybe(times.nak_generation), reaction = maybe(times.nak_reaction),
              timeout = maybe(times.timeout), recovery = maybe(times.recovery);
  const uint64_t start = episode_start(e);

  rows.begin();
  add_start(rows, start == UINT64_MAX ? 0 : start, found);
  rows.name(row.name);
  rows.cell({"kind", "KIND"}, names::kind_name(row.name.key));
  rows.cell({"cause", "CAUSE"}, e.cause ? Value{episode_cause(e)} : Value{});
  rows.cell({"where", "WHERE"}, std::string(where_of(e)));
  rows.json("ended_by", ended_by(row));
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

void add_row(EpisodeRows &rows, const FindingRow &row, const Episodes &found) {
  const uint64_t first = found.first_ns;
  const std::vector<std::string> &files = found.files;
  const roce_finding &f = row.finding;
  rows.begin();
  rows.cell({"finding", "FINDING"}, std::string(kFindingNames[f.type % ROCE_FINDINGS]));
  rows.name(row.name);
  rows.cell({"psn", "PSN", Format::Number}, uint64_t{f.psn});
  rows.json("time_ns", at(f.time_ns, first));
  const uint64_t number = files.empty() ? ~uint64_t{0} : (uint64_t{1} << kFileShift) - 1;
  const auto file = [&](uint64_t frame) {
    return frame ? Value{files.at(frame >> kFileShift)} : Value{};
  };
  if (!files.empty())
    rows.cell({"file", "FILE"}, file(f.frame));
  rows.cell({"frame", "FRAME", Format::Number, Hide::Zero},
            f.frame ? Value{f.frame & number} : Value{});
  if (!files.empty())
    rows.cell({"other_file", "OTHER\nFILE", Format::Text, Hide::Zero}, file(f.other_frame));
  rows.cell({"other_frame", "OTHER\nFRAME", Format::Number, Hide::Zero},
            f.other_frame ? Value{f.other_frame & number} : Value{});
  rows.cell({"text", "WHAT"}, finding_text(f));
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

void add_row(EpisodeRows &rows, const PairRow &p) {
  rows.begin();
  rows.name(p.name);
  rows.count("requests", "REQUESTS", p.requests, Hide::Never);
  rows.cell({"answers", "", Format::Text, Hide::Never, Tone::Plain, Where::Json}, p.answers);
  rows.count("naks", "NAKS", p.naks);
  for (unsigned cause = 1; cause <= ROCE_CAUSES; cause++)
    rows.count(kCauseNames[cause % ROCE_CAUSES], kCauseNames[cause % ROCE_CAUSES],
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
  rows.count("reads_again", "READS\nAGAIN", p.reads_again);
  rows.count("reads_cut", "READS\nCUT", p.reads_cut);
  rows.json("msn_unchecked", uint64_t{p.msn_unchecked});
  rows.count("ce", "CE", p.ce);
  rows.count("answers_ce", "ANSWERS\nCE", p.answers_ce);
  rows.count("cnps", "CNPS", p.cnps);
  rows.json("cnp_interval_ns", known(p.cnp_ns));
  rows.text("CNPS\nus", microseconds(known(p.cnp_ns)));
}

void add_row(EpisodeRows &rows, const CnpRow &c) {
  const auto time = [&rows](const char *key, const char *heading, uint64_t ns) {
    rows.json(key, known(ns));
    rows.text(heading, microseconds(known(ns)));
  };
  rows.begin();
  rows.cell({"src", "SOURCE"}, names::address(c.src.data()));
  rows.count("cnps", "CNPS", c.cnps, Hide::Never);
  rows.count("qps", "QPS", c.qps);
  rows.count("destinations", "DESTI-\nNATIONS", c.destinations);
  time("interval_qp_ns", "QP us", c.qp_ns);
  time("interval_destination_ns", "DESTI-\nNATION us", c.destination_ns);
  time("interval_port_ns", "PORT us", c.port_ns);
  rows.cell({"paced_by", "PACED BY", Format::Text, Hide::Zero}, paced_by(c));
}

// The columns of a table without rows are those of one row that is taken away again.
template <class Row, class... Context>
Table table_of(const std::vector<Row> &list, const Context &...context) {
  EpisodeRows rows;
  for (const Row &row : list)
    add_row(rows, row, context...);
  if (list.empty()) {
    add_row(rows, Row{}, context...);
    rows.clear();
  }
  return rows.table();
}

Section section(const char *key, const char *title, Table table, const char *none) {
  Section made{key, title, std::move(table)};
  made.note = none;
  return made;
}

} // namespace

std::string finding_text(const roce_finding &f) {
  switch (f.type) {
  case ROCE_FINDING_REPEATED_NAK:
    return fmt::format("a second NAK for PSN {} before it arrived", f.psn);
  case ROCE_FINDING_NAK_WITHOUT_GAP:
    return fmt::format("a NAK for PSN {}, after which nothing had been sent, or which was "
                       "acknowledged",
                       f.psn);
  case ROCE_FINDING_WRONG_PSN:
    return fmt::format("resumed at PSN {}, {} was asked for", f.value, f.psn);
  case ROCE_FINDING_ACK_BEYOND:
    return fmt::format("an ACK for PSN {}, which was sent after it", (f.psn - 1) & ROCE_PSN_MASK);
  case ROCE_FINDING_CE_WITHOUT_CNP:
    return fmt::format("{} requests were marked CE, and their receiver sent no CNP", f.value);
  case ROCE_FINDING_CNP_WITHOUT_CE:
    return "a CNP, and no packet of its QP was marked CE here, nor refused";
  case ROCE_FINDING_PSN_VIOLATION:
    return fmt::format("PSN {} where {} was due: no message has the {} PSNs between, and they were "
                       "acknowledged",
                       f.psn, f.expected, f.value);
  case ROCE_FINDING_READ_NOT_OBEYED:
    return f.value == 1
               ? fmt::format("the answer with PSN {} did not come, and was not requested again",
                             f.psn)
               : fmt::format("{} answers from PSN {} did not come, and were not requested again",
                             f.value, f.psn);
  case ROCE_FINDING_ICRC:
    return fmt::format("PSN {} has a wrong iCRC: its receiver drops it", f.psn);
  case ROCE_FINDING_PMTU:
    return fmt::format("{} bytes of payload at PSN {}, {} in the packets before", f.value, f.psn,
                       f.expected);
  default:
    return fmt::format("MSN {} with PSN {}, {} expected", f.value, f.psn, f.expected);
  }
}

Table episode_table(const Episodes &found) { return table_of(found.episodes, found); }

Table finding_table(const Episodes &found) { return table_of(found.findings, found); }

void add_episode_causes(Document &document, const Snapshot &snapshot) {
  if (!snapshot.followed)
    return;
  Group group;
  for (unsigned cause = 1; cause <= ROCE_CAUSES; cause++)
    group.push_back(count(kCauseNames[cause % ROCE_CAUSES], kCauseNames[cause % ROCE_CAUSES],
                          snapshot.episodes[cause % ROCE_CAUSES]));
  document.sections.push_back(
      {"episode_causes", "EPISODES", std::move(group), Where::Both, Hide::Zero});
}

std::string episode_cause(const roce_episode &e) {
  return e.cause ? kCauseNames[e.cause % ROCE_CAUSES] : "";
}

void add_episodes(Document &document, const Episodes &found) {
  document.sections.push_back(
      section("episodes", "EPISODES", episode_table(found), "no episodes: no requester went back"));
  document.sections.push_back(section("findings", "FINDINGS", finding_table(found), "no findings"));
  document.sections.push_back(
      section("pairs", "FOLLOWED", table_of(found.pairs), "no requests of RC or XRC"));
  Section pacing = section("cnp_pacing", "LEAST TIME BETWEEN CNPS", table_of(found.cnps), "");
  pacing.hide = Hide::Zero;
  document.sections.push_back(std::move(pacing));
  Section lost_section{
      "following", "NOT FOLLOWED",
      Group{count("unpaired", "answers whose requests are not known", found.unpaired),
            lost("pairs", "packets of QP pairs that had no room", found.pairs_full),
            lost("contended", "packets while other CPUs were changing their QP pair",
                 found.pairs_contended),
            lost("episodes", "episodes beyond the number that is kept", found.episodes_dropped),
            lost("findings", "findings beyond the number that is kept", found.findings_dropped),
            lost("cnps", "CNPs to QPs beyond 65,536", found.cnps_forgotten),
            count("icrc_ignored",
                  "wrong iCRCs in streams where most are wrong: not taken for damage",
                  found.icrc_ignored),
            lost("holes", "gaps beyond 16 at a time", found.holes_forgotten)}};
  lost_section.hide = Hide::Zero;
  document.sections.push_back(std::move(lost_section));
}

Document episodes_report(const std::string &ifname, const Episodes &episodes) {
  Document document = port_document(ifname);
  add_summary(document, episodes_summary(episodes));
  add_episodes(document, episodes);
  return document;
}

} // namespace xr::report
