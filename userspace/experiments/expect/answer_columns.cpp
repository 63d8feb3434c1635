// SPDX-License-Identifier: Apache-2.0
// To add a column: the struct in model/run_answers.h, what fills it in run_analysis/, a row here,
// report/run_answers.cpp; experiment_answers_test, answers_test, run_expect.sh.
#include "expect/answer_columns.h"

#include <algorithm>

#include <fmt/format.h>

#include "parse/address.h"

namespace xr::experiment {

namespace {

using enum Dimension;
using Pacing = xr::CnpPacing;
using Count = xr::CountCheck;
using Pair = xr::GoBackN;

// Without a value where there must be one.
template <typename T> Cell needed(const std::optional<T> &value, bool must) {
  Cell made = cell(value);
  made.needed = must;
  return made;
}
Cell words(const std::string &text) { return {.text = text}; }
Cell known(uint64_t ns) { return ns ? cell(ns) : Cell{}; }

constexpr ColumnRow base(const char *name, Dimension dimension) {
  return {.name = name, .dimension = dimension, .kind = ColumnKind::Value, .whole_run = true};
}
constexpr ColumnRow column(const char *name, Dimension dimension, Cell (*get)(const Recovery &)) {
  ColumnRow row = base(name, dimension);
  row.episode = get;
  return row;
}
constexpr ColumnRow column(const char *name, Dimension dimension,
                           Cell (*get)(const AnsweredFinding &)) {
  ColumnRow row = base(name, dimension);
  row.finding = get;
  return row;
}
constexpr ColumnRow column(const char *name, Dimension dimension, Cell (*get)(const HitPacket &)) {
  ColumnRow row = base(name, dimension);
  row.event = get;
  return row;
}
constexpr ColumnRow column(const char *name, Dimension dimension, Cell (*get)(const Pair &)) {
  ColumnRow row = base(name, dimension);
  row.go_back_n = get;
  return row;
}
constexpr ColumnRow column(const char *name, Dimension dimension, Cell (*get)(const Pacing &)) {
  ColumnRow row = base(name, dimension);
  row.pacing = get;
  return row;
}
constexpr ColumnRow column(const char *name, Dimension dimension, Cell (*get)(const Count &)) {
  ColumnRow row = base(name, dimension);
  row.count = get;
  return row;
}
constexpr ColumnRow texts(ColumnRow row, Texts which, std::span<const char *const> values = {}) {
  row.texts = which;
  row.values = values;
  return row;
}

constexpr const char *kPorts[] = {"left", "right"};
constexpr const char *kScopes[] = {"qp", "destination", "port"};

using R = Recovery;
constexpr ColumnRow kEpisodes[] = {
    texts(column("flow", Plain, [](const R &r) { return words(r.qp.flow); }), Texts::Flows),
    column("dest_qp", Plain, [](const R &r) { return cell(r.qp.dest_qp); }),
    texts(column("cause", Plain, [](const R &r) { return words(kCauseNames[r.cause]); }),
          Texts::Values, kCauseNames),
    column("first_missing_psn", Plain, [](const R &r) { return cell(r.first_missing); }),
    column("missing", Plain, [](const R &r) { return cell(r.missing); }),
    column("resent_packets", Plain, [](const R &r) { return cell(r.resent); }),
    column("resent_needlessly", Plain, [](const R &r) { return cell(r.resent_needlessly); }),
    column("resent_bytes", Bytes, [](const R &r) { return cell(r.resent_bytes); }),
    column("naks", Plain, [](const R &r) { return cell(r.naks); }),
    column("at_ns", Time, [](const R &r) { return cell(r.at_ns); }),
    column("nak_generation_ns", Time,
           [](const R &r) { return needed(r.nak_generation_ns, r.cause == ROCE_CAUSE_NAK); }),
    column("nak_reaction_ns", Time,
           [](const R &r) {
             return needed(r.nak_reaction_ns,
                           r.cause == ROCE_CAUSE_NAK || r.cause == ROCE_CAUSE_READ);
           }),
    column("timeout_ns", Time,
           [](const R &r) { return needed(r.timeout_ns, r.cause == ROCE_CAUSE_TIMEOUT); }),
    column("recovery_ns", Time,
           [](const R &r) { return needed(r.recovery_ns, r.cause != ROCE_CAUSE_DUPLICATE); }),
    column("recovered", Plain, [](const R &r) { return cell(r.recovery_ns.has_value()); }),
};

using F = AnsweredFinding;
constexpr ColumnRow kFindings[] = {
    texts(column("finding", Plain, [](const F &f) { return words(f.finding); }), Texts::Values,
          kFindingNames),
    texts(column("flow", Plain, [](const F &f) { return words(f.qp.flow); }), Texts::Flows),
    column("dest_qp", Plain, [](const F &f) { return cell(f.qp.dest_qp); }),
    column("psn", Plain, [](const F &f) { return cell(f.psn); }),
    column("at_ns", Time, [](const F &f) { return cell(f.at_ns); }),
};

using H = HitPacket;
constexpr ColumnRow kEvents[] = {
    texts(column("rule", Plain, [](const H &h) { return words(h.rule); }), Texts::Rules),
    texts(column("did", Plain, [](const H &h) { return words(h.did); }), Texts::Any),
    texts(column("flow", Plain, [](const H &h) { return words(h.qp.flow); }), Texts::Flows),
    column("dest_qp", Plain, [](const H &h) { return cell(h.qp.dest_qp); }),
    column("psn", Plain, [](const H &h) { return cell(h.psn); }),
    column("packet", Plain, [](const H &h) { return cell(h.packet); }),
    column("again", Plain, [](const H &h) { return cell(h.again); }),
    column("at_ns", Time, [](const H &h) { return cell(h.at_ns); }),
    texts(column("capture", Plain, [](const H &h) { return words(h.frame.capture); }),
          Texts::Values, kPorts),
    column("frame", Plain, [](const H &h) { return cell(h.frame.number); }),
    column("cnp_ns", Time, [](const H &h) { return cell(h.cnp_ns); }),
    column("recovered", Plain, [](const H &h) { return cell(h.recovered); }),
    column("recovery_ns", Time,
           [](const H &h) { return needed(h.recovery_ns, h.recovered.has_value()); }),
};

using G = Pair;
constexpr ColumnRow kGoBackN[] = {
    texts(column("flow", Plain, [](const G &g) { return words(g.qp.flow); }), Texts::Flows),
    column("dest_qp", Plain, [](const G &g) { return cell(g.qp.dest_qp); }),
    column("resumes_at_missing", Plain, [](const G &g) { return cell(g.resumes); }),
    column("naks_once_a_gap", Plain, [](const G &g) { return cell(g.naks_once); }),
    column("gaps", Plain, [](const G &g) { return cell(g.gaps); }),
    column("naks", Plain, [](const G &g) { return cell(g.naks); }),
    column("go_backs", Plain, [](const G &g) { return cell(g.go_backs); }),
    column("selective", Plain, [](const G &g) { return cell(g.selective); }),
    column("wrong_psn_resumed", Plain, [](const G &g) { return cell(g.wrong_psn); }),
    column("repeated_nak", Plain, [](const G &g) { return cell(g.repeated); }),
    column("nak_without_gap", Plain, [](const G &g) { return cell(g.without_gap); }),
    column("gap_without_nak", Plain, [](const G &g) { return cell(g.silent); }),
    column("ack_beyond", Plain, [](const G &g) { return cell(g.ack_beyond); }),
};

using P = Pacing;
constexpr ColumnRow kCnpPacing[] = {
    column("marked", Plain, [](const P &p) { return cell(p.marked); }),
    column("cnps", Plain, [](const P &p) { return cell(p.times.cnps); }),
    column("interval_qp_ns", Time, [](const P &p) { return known(p.times.qp_ns); }),
    column("interval_destination_ns", Time,
           [](const P &p) { return known(p.times.destination_ns); }),
    column("interval_port_ns", Time, [](const P &p) { return known(p.times.port_ns); }),
    texts(column("paced_by", Plain,
                 [](const P &p) {
                   const std::string scope = cnps_paced_by(p.times);
                   return scope.empty() ? Cell{} : words(scope);
                 }),
          Texts::Values, kScopes),
    column("qps_without_ce", Plain, [](const P &p) { return cell(p.without_ce); }),
    column("qps_without_cnp", Plain, [](const P &p) { return cell(p.unanswered); }),
};

using C = Count;
constexpr ColumnRow kCountChecks[] = {
    texts(column("what", Plain, [](const C &c) { return words(c.what); }), Texts::Any),
    texts(column("why", Plain, [](const C &c) { return words(c.why); }), Texts::Any),
    column("captured", Plain, [](const C &c) { return cell(c.captured); }),
    column("counted", Plain, [](const C &c) { return needed(c.counted, true); }),
    column("equal", Plain,
           [](const C &c) {
             Cell equal = needed(c.counted, true);
             if (c.counted)
               equal.number = *c.counted == c.captured;
             return equal;
           }),
};

struct Alias {
  const char *other, *ours;
};
constexpr Alias kAnswerAliases[] = {{"qpn", "dest_qp"},
                                    {"qp", "dest_qp"},
                                    {"missing_psn", "first_missing_psn"},
                                    {"resent", "resent_packets"},
                                    {"kind", "finding"}};

AnswerTable table_of(RowKind kind) {
  switch (kind) {
  case RowKind::Episode:
    return AnswerTable::Retransmissions;
  case RowKind::Finding:
    return AnswerTable::Findings;
  case RowKind::Event:
    return AnswerTable::Events;
  case RowKind::GoBackN:
    return AnswerTable::GoBackN;
  case RowKind::CnpPacing:
    return AnswerTable::Cnps;
  default:
    return AnswerTable::Counts;
  }
}

} // namespace

std::span<const ColumnRow> answer_columns(RowKind kind) {
  switch (kind) {
  case RowKind::Episode:
    return kEpisodes;
  case RowKind::Finding:
    return kFindings;
  case RowKind::Event:
    return kEvents;
  case RowKind::GoBackN:
    return kGoBackN;
  case RowKind::CnpPacing:
    return kCnpPacing;
  default:
    return kCountChecks;
  }
}

std::string_view answer_column(std::string_view name) {
  const auto *const found = std::ranges::find(kAnswerAliases, name, &Alias::other);
  return found == std::end(kAnswerAliases) ? name : found->ours;
}

size_t answer_rows(RowKind kind, const RunAnswers &answers) {
  switch (kind) {
  case RowKind::Episode:
    return answers.recoveries.size();
  case RowKind::Finding:
    return answers.findings.size();
  case RowKind::Event:
    return answers.hits.size();
  case RowKind::GoBackN:
    return answers.go_back_n.size();
  case RowKind::CnpPacing:
    return answers.cnp_pacing.size();
  default:
    return answers.counts.size();
  }
}

std::string answer_name(RowKind kind, const RunAnswers &answers, size_t row) {
  switch (kind) {
  case RowKind::Episode:
    return answers.recoveries[row].qp.flow;
  case RowKind::Finding:
    return answers.findings[row].finding;
  case RowKind::Event:
    return answers.hits[row].rule;
  case RowKind::GoBackN:
    return answers.go_back_n[row].qp.flow;
  case RowKind::CnpPacing:
    return parse::address_text(answers.cnp_pacing[row].times.src);
  default:
    return answers.counts[row].counter;
  }
}

std::string answer_label(RowKind kind, const RunAnswers &answers, size_t row) {
  const auto of = [](const AnsweredQp &qp) {
    return qp.flow.empty() ? fmt::format("{} to QP {:#x} of {}", qp.src, qp.dest_qp, qp.dst)
                           : qp.flow;
  };
  switch (kind) {
  case RowKind::Episode:
    return fmt::format("episode {} ({})", row + 1, of(answers.recoveries[row].qp));
  case RowKind::Finding:
    return fmt::format("finding {} ({}, {})", row + 1, answers.findings[row].finding,
                       of(answers.findings[row].qp));
  case RowKind::Event:
    return fmt::format("event {} ({}, {})", row + 1, answers.hits[row].rule,
                       of(answers.hits[row].qp));
  case RowKind::GoBackN:
    return of(answers.go_back_n[row].qp);
  default:
    return answer_name(kind, answers, row);
  }
}

Cell answer_cell(const ColumnRow &column, RowKind kind, const RunAnswers &answers, size_t row) {
  switch (kind) {
  case RowKind::Episode:
    return column.episode(answers.recoveries[row]);
  case RowKind::Finding:
    return column.finding(answers.findings[row]);
  case RowKind::Event:
    return column.event(answers.hits[row]);
  case RowKind::GoBackN:
    return column.go_back_n(answers.go_back_n[row]);
  case RowKind::CnpPacing:
    return column.pacing(answers.cnp_pacing[row]);
  default:
    return column.count(answers.counts[row]);
  }
}

const std::string &answer_loss(RowKind kind, const RunAnswers &answers) {
  return answers.incomplete[static_cast<size_t>(table_of(kind))];
}

CaptureFrame answer_frame(const ColumnRow *column, RowKind kind, const RunAnswers &answers,
                          size_t row) {
  const std::string_view name = column ? column->name : "";
  switch (kind) {
  case RowKind::Episode: {
    const Recovery &r = answers.recoveries[row];
    return r.nak_frame.number && name == "nak_generation_ns" ? r.nak_frame : r.frame;
  }
  case RowKind::Finding:
    return answers.findings[row].frame;
  case RowKind::Event:
    return answers.hits[row].frame;
  case RowKind::CnpPacing: {
    const Pacing &p = answers.cnp_pacing[row];
    return name == "interval_qp_ns"            ? p.qp_frame
           : name == "interval_destination_ns" ? p.destination_frame
           : name == "interval_port_ns"        ? p.port_frame
                                               : CaptureFrame{};
  }
  default:
    return {};
  }
}

std::optional<uint64_t> answer_time(RowKind kind, const RunAnswers &answers, size_t row) {
  switch (kind) {
  case RowKind::Episode:
    return answers.from_ns + answers.recoveries[row].at_ns;
  case RowKind::Event:
    return answers.from_ns + answers.hits[row].at_ns;
  case RowKind::Finding:
    return answers.findings[row].at_ns
               ? std::optional(answers.from_ns + *answers.findings[row].at_ns)
               : std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace xr::experiment
