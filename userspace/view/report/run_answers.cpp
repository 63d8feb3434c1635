// SPDX-License-Identifier: Apache-2.0
// To add an answer: a struct in model/run_answers.h, filled in run_analysis/trace.cpp (frames one
// by one), answers.cpp (followed QP pairs) or counts.cpp; its rows here; docs/expectations.md;
// answers_test, run_lumina.sh.
#include "report/run_answers.h"

#include <algorithm>

#include <fmt/format.h>

#include "names/names.h"
#include "report/cells.h"
#include "report/episodes.h"
#include "report/experiment_tables.h"

namespace xr::report {

namespace {

using enum Format;

Value yes_no(const std::optional<bool> &value) {
  return value ? Value{std::string(*value ? "yes" : "NO")} : Value{};
}
Value micro(const std::optional<uint64_t> &ns) {
  return ns ? Value{fmt::format("{:.3f}", static_cast<double>(*ns) / 1000)} : Value{};
}
Value micro(uint64_t ns) { return micro(ns ? std::optional(ns) : std::nullopt); }

// In text the flow, or else the QP.
std::string qp_name(const AnsweredQp &qp) {
  return qp.flow.empty() ? fmt::format("{} -> {} QP {:#x}", qp.src, qp.dst, qp.dest_qp) : qp.flow;
}

void add_qp(std::vector<Value> &row, const AnsweredQp &qp) {
  row.insert(row.end(), {known(qp.flow), qp.src, qp.dst, uint64_t{qp.dest_qp}});
}
std::vector<Column> qp_columns(std::initializer_list<Column> more) {
  std::vector<Column> columns = {json_only("flow"), json_only("src"), json_only("dst"),
                                 json_only("dest_qp")};
  columns.insert(columns.end(), more);
  return columns;
}

Value frame_text(const CaptureFrame &frame) {
  return frame.number ? Value{fmt::format("{}.pcapng {}", frame.capture, frame.number)} : Value{};
}
void add_frame(std::vector<Value> &row, const CaptureFrame &frame) {
  row.insert(row.end(), {known(frame.capture), known(frame.number)});
}

// A table for JSON with all rows, and one for text with the first.
struct Pair {
  std::string key, title;
  std::vector<Column> json = {}, text = {};
  Rows json_rows = {}, text_rows = {};
  std::string none = {};

  void add_to(std::vector<Section> &sections, size_t most) {
    const size_t all = text_rows.size();
    text_rows.resize(std::min(all, most));
    sections.push_back({key, "", make_table(std::move(json), std::move(json_rows)), Where::Json});
    Section shown{key + "_text", title, make_table(std::move(text), std::move(text_rows)),
                  Where::Text};
    shown.note = none;
    sections.push_back(std::move(shown));
    if (all > most)
      sections.push_back({key + "_more", "",
                          Value{fmt::format("{} more in result.json", all - most)}, Where::Text});
  }
};

Pair hits(const RunAnswers &answers) {
  Pair table{.key = "events",
             .title = "PACKETS THAT RULES CHANGED",
             .json = qp_columns({{"rule", ""},
                                 {"did", ""},
                                 {"psn", ""},
                                 {"packet", ""},
                                 {"again", ""},
                                 {"at_ns", ""},
                                 {"capture", ""},
                                 {"frame", ""},
                                 {"retransmission", ""},
                                 {"cnp_ns", ""},
                                 {"recovered", ""},
                                 {"recovery_ns", ""}}),
             .text = {{"rule", "RULE"},
                      {"flow", "FLOW"},
                      {"packet", "PACKET", Number},
                      {"psn", "PSN", Number},
                      {"did", "DID"},
                      {"at", "AT us", Number},
                      {"frame", "FRAME"},
                      {"then", "THEN"}},
             .none = "none"};
  for (const HitPacket &hit : answers.hits) {
    std::vector<Value> row;
    add_qp(row, hit.qp);
    row.insert(row.end(), {hit.rule, hit.did, uint64_t{hit.psn}, maybe(hit.packet), hit.again,
                           hit.at_ns, hit.frame.capture, hit.frame.number,
                           hit.episode ? Value{uint64_t{*hit.episode + 1}} : Value{},
                           maybe(hit.cnp_ns), maybe(hit.recovered), maybe(hit.recovery_ns)});
    table.json_rows.push_back(std::move(row));
    Value then;
    if (hit.episode)
      then = fmt::format("retransmission {}", *hit.episode + 1);
    else if (hit.cnp_ns)
      then = fmt::format("CNP after {:.3f} us", static_cast<double>(*hit.cnp_ns) / 1000);
    table.text_rows.push_back({hit.rule, qp_name(hit.qp), maybe(hit.packet), uint64_t{hit.psn},
                               hit.did + (hit.again ? " (sent again)" : ""), micro(hit.at_ns),
                               frame_text(hit.frame), std::move(then)});
  }
  return table;
}

Pair go_back_n(const RunAnswers &answers) {
  Pair table{.key = "go_back_n",
             .title = "GO-BACK-N",
             .json = qp_columns({{"resumes_at_missing", ""},
                                 {"naks_once_a_gap", ""},
                                 {"gaps", ""},
                                 {"naks", ""},
                                 {"go_backs", ""},
                                 {"selective", ""},
                                 {"wrong_psn_resumed", ""},
                                 {"repeated_nak", ""},
                                 {"nak_without_gap", ""},
                                 {"gap_without_nak", ""},
                                 {"ack_beyond", ""}}),
             .text = {{"flow", "FLOW"},
                      {"gaps", "GAPS", Count},
                      {"naks", "NAKS", Count},
                      {"naks_once", "ONE NAK\nA GAP"},
                      {"go_backs", "GO-BACKS", Count},
                      {"resumes", "RESUMES AT\nMISSING PSN"},
                      {"selective", "SELECTIVE", Count, Hide::Zero},
                      {"wrong_psn", "WRONG PSN\nRESUMED", Count, Hide::Zero, Tone::Alarm},
                      {"repeated", "REPEATED\nNAKS", Count, Hide::Zero, Tone::Alarm},
                      {"without_gap", "NAKS WITH-\nOUT GAP", Count, Hide::Zero, Tone::Alarm},
                      {"silent", "GAPS WITH-\nOUT NAK", Count, Hide::Zero, Tone::Alarm},
                      {"ack_beyond", "ACKS OF\nUNSENT", Count, Hide::Zero, Tone::Alarm}},
             .none = "no requests of RC or XRC"};
  for (const GoBackN &g : answers.go_back_n) {
    std::vector<Value> row;
    add_qp(row, g.qp);
    row.insert(row.end(),
               {maybe(g.resumes), maybe(g.naks_once), g.gaps, g.naks, g.go_backs, g.selective,
                g.wrong_psn, g.repeated, g.without_gap, g.silent, g.ack_beyond});
    table.json_rows.push_back(std::move(row));
    table.text_rows.push_back({qp_name(g.qp), g.gaps, g.naks, yes_no(g.naks_once), g.go_backs,
                               yes_no(g.resumes), g.selective, g.wrong_psn, g.repeated,
                               g.without_gap, g.silent, g.ack_beyond});
  }
  return table;
}

Pair recoveries(const RunAnswers &answers) {
  Pair table{.key = "retransmissions",
             .title = "RETRANSMISSIONS",
             .json = qp_columns({{"number", ""},
                                 {"cause", ""},
                                 {"first_missing_psn", ""},
                                 {"missing", ""},
                                 {"resent_packets", ""},
                                 {"at_ns", ""},
                                 {"nak_generation_ns", ""},
                                 {"nak_reaction_ns", ""},
                                 {"timeout_ns", ""},
                                 {"recovery_ns", ""},
                                 {"resent_needlessly", ""},
                                 {"resent_bytes", ""},
                                 {"naks", ""},
                                 {"capture", ""},
                                 {"frame", ""},
                                 {"nak_capture", ""},
                                 {"nak_frame", ""}}),
             .text = {{"number", "N", Number},
                      {"flow", "FLOW"},
                      {"cause", "CAUSE"},
                      {"first", "FIRST\nMISSING", Number},
                      {"missing", "MISSING", Count},
                      {"resent", "RESENT", Count},
                      {"at", "AT us", Number},
                      {"generation", "NAK GENE-\nRATION us", Number, Hide::Zero},
                      {"reaction", "NAK RE-\nACTION us", Number, Hide::Zero},
                      {"timeout", "TIMEOUT\nus", Number, Hide::Zero},
                      {"recovery", "RECOVERY\nus", Number, Hide::Zero},
                      {"frame", "FRAME"}},
             .none = "none: no requester went back"};
  uint64_t number = 0;
  for (const Recovery &r : answers.recoveries) {
    std::vector<Value> row;
    add_qp(row, r.qp);
    number++;
    row.insert(row.end(),
               {number, known(r.cause == ROCE_CAUSE_UNKNOWN ? "" : kCauseNames[r.cause]),
                uint64_t{r.first_missing}, r.missing, r.resent, r.at_ns, maybe(r.nak_generation_ns),
                maybe(r.nak_reaction_ns), maybe(r.timeout_ns), maybe(r.recovery_ns),
                r.resent_needlessly, r.resent_bytes, r.naks});
    add_frame(row, r.frame);
    add_frame(row, r.nak_frame);
    table.json_rows.push_back(std::move(row));
    table.text_rows.push_back(
        {number, qp_name(r.qp), known(r.cause == ROCE_CAUSE_UNKNOWN ? "" : kCauseNames[r.cause]),
         uint64_t{r.first_missing}, r.missing, r.resent, micro(r.at_ns), micro(r.nak_generation_ns),
         micro(r.nak_reaction_ns), micro(r.timeout_ns), micro(r.recovery_ns), frame_text(r.frame)});
  }
  return table;
}

Pair findings(const RunAnswers &answers) {
  Pair table{.key = "findings",
             .title = "FINDINGS",
             .json = qp_columns({{"finding", ""},
                                 {"psn", ""},
                                 {"at_ns", ""},
                                 {"capture", ""},
                                 {"frame", ""},
                                 {"text", ""}}),
             .text = {{"finding", "FINDING"},
                      {"flow", "FLOW"},
                      {"psn", "PSN", Number},
                      {"at", "AT us", Number, Hide::Zero},
                      {"frame", "FRAME"},
                      {"text", "WHAT"}},
             .none = "none"};
  for (const AnsweredFinding &f : answers.findings) {
    std::vector<Value> row;
    add_qp(row, f.qp);
    row.insert(row.end(), {f.finding, uint64_t{f.psn}, maybe(f.at_ns)});
    add_frame(row, f.frame);
    row.emplace_back(f.text);
    table.json_rows.push_back(std::move(row));
    table.text_rows.push_back(
        {f.finding, qp_name(f.qp), uint64_t{f.psn}, micro(f.at_ns), frame_text(f.frame), f.text});
  }
  return table;
}

Pair pacing(const RunAnswers &answers) {
  Pair table{.key = "cnp_pacing",
             .title = "CNP PACING",
             .json = {{"src", ""},
                      {"marked", ""},
                      {"cnps", ""},
                      {"interval_qp_ns", ""},
                      {"interval_destination_ns", ""},
                      {"interval_port_ns", ""},
                      {"paced_by", ""},
                      {"qps_without_ce", ""},
                      {"qps_without_cnp", ""}},
             .text = {{"src", "RECEIVER"},
                      {"marked", "MARKED CE", Count},
                      {"cnps", "CNPS", Count},
                      {"qp", "LEAST INTERVAL us\nby QP", Number},
                      {"destination", "\nby destination", Number},
                      {"port", "\nby port", Number},
                      {"paced_by", "PACED BY", Text, Hide::Zero},
                      {"without_ce", "QPS WITH CNPS,\nWITHOUT CE", Count, Hide::Zero, Tone::Alarm},
                      {"unanswered", "QPS WITH CE,\nWITHOUT CNP", Count, Hide::Zero}},
             .none = "no CE marks and no CNPs"};
  for (const CnpPacing &p : answers.cnp_pacing) {
    const CnpRow &t = p.times;
    const std::string src = names::address(t.src.data());
    table.json_rows.push_back({src, p.marked, t.cnps, known(t.qp_ns), known(t.destination_ns),
                               known(t.port_ns), known(cnps_paced_by(t)), p.without_ce,
                               p.unanswered});
    table.text_rows.push_back({src, p.marked, t.cnps, micro(t.qp_ns), micro(t.destination_ns),
                               micro(t.port_ns), known(cnps_paced_by(t)), p.without_ce,
                               p.unanswered});
  }
  return table;
}

Pair counts(const RunAnswers &answers) {
  Pair table{.key = "count_checks",
             .title = "COUNTERS AND CAPTURES",
             .json = {{"what", ""},
                      {"captured", ""},
                      {"counter", ""},
                      {"counted", ""},
                      {"equal", ""},
                      {"why", ""}},
             .text = {{"what", "WHAT"},
                      {"captured", "CAPTURED", Count},
                      {"counted", "COUNTED", Count},
                      {"counter", "COUNTER"},
                      {"equal", "EQUAL"},
                      {"why", "", Text, Hide::Zero}}};
  for (const CountCheck &c : answers.counts) {
    std::optional<bool> equal;
    if (c.counted)
      equal = *c.counted == c.captured;
    table.json_rows.push_back(
        {c.what, c.captured, c.counter, maybe(c.counted), maybe(equal), known(c.why)});
    table.text_rows.push_back(
        {c.what, c.captured, maybe(c.counted), c.counter, yes_no(equal), known(c.why)});
  }
  return table;
}

} // namespace

std::vector<Section> answer_sections(const RunAnswers &answers, size_t most) {
  std::vector<Section> sections;
  hits(answers).add_to(sections, most);
  go_back_n(answers).add_to(sections, most);
  recoveries(answers).add_to(sections, most);
  findings(answers).add_to(sections, most);
  pacing(answers).add_to(sections, most);
  counts(answers).add_to(sections, most);
  sections.push_back({"captures_from_ns", "", answers.from_ns, Where::Json});
  sections.push_back({"not_answered", "not in the answers", Value{StringList(answers.lost)},
                      Where::Both, Hide::Zero, Tone::Alarm});
  return sections;
}

} // namespace xr::report
