// SPDX-License-Identifier: Apache-2.0
#include "experiment/columns.h"

#include <algorithm>

#include "experiment/answer_columns.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

using enum Dimension;
using enum ColumnKind;
using Flow = ExperimentFlow;
using Queue = ExperimentQueue;
using Total = ExperimentMeasurement;
using Prediction = ExperimentPrediction;

constexpr ColumnRow flow_row(const char *name, Dimension dimension, ColumnKind kind, bool whole_run,
                             Cell (*get)(const Flow &)) {
  return {.name = name, .dimension = dimension, .kind = kind, .whole_run = whole_run, .flow = get};
}

constexpr ColumnRow kFlows[] = {
    flow_row("rate_bps", Rate, Level, false, [](const Flow &f) { return cell(f.rate_bps); }),
    flow_row("control_bps", Rate, Sampled, false, [](const Flow &) { return Cell{}; }),
    flow_row("target_bps", Rate, Sampled, false, [](const Flow &) { return Cell{}; }),
    flow_row("alpha", Plain, Sampled, false, [](const Flow &) { return Cell{}; }),
    flow_row("bytes", Bytes, Counter, false, [](const Flow &f) { return cell(f.bytes); }),
    flow_row("packets", Plain, Counter, false, [](const Flow &f) { return cell(f.packets); }),
    flow_row("start_ns", Time, Value, true, [](const Flow &f) { return cell(f.start_ns); }),
    flow_row("end_ns", Time, Value, true, [](const Flow &f) { return cell(f.end_ns); }),
    flow_row("fct_ns", Time, Value, true, [](const Flow &f) { return cell(f.fct_ns); }),
    flow_row("slowdown", Plain, Value, true, [](const Flow &f) { return cell(f.slowdown); }),
    flow_row("marked", Plain, Counter, true, [](const Flow &f) { return cell(f.marked); }),
    flow_row("cnps", Plain, Counter, true, [](const Flow &f) { return cell(f.cnps); }),
    flow_row("cuts", Plain, Counter, true, [](const Flow &f) { return cell(f.cuts); }),
    flow_row("retransmitted", Plain, Counter, true,
             [](const Flow &f) { return cell(f.retransmitted); }),
    flow_row("timeouts", Plain, Counter, true, [](const Flow &f) { return cell(f.timeouts); }),
    flow_row("naks", Plain, Counter, true, [](const Flow &f) { return cell(f.naks); }),
    flow_row("drops", Plain, Counter, true, [](const Flow &f) { return cell(f.drops); }),
    flow_row("failed", Plain, Counter, true, [](const Flow &f) { return cell(f.failed); }),
    flow_row("qp", Plain, Value, true, [](const Flow &f) { return cell(f.qp); }),
};

constexpr ColumnRow queue_row(const char *name, Dimension dimension, ColumnKind kind,
                              Cell (*get)(const Queue &)) {
  return {.name = name, .dimension = dimension, .kind = kind, .whole_run = false, .queue = get};
}

constexpr ColumnRow kQueues[] = {
    {.name = "backlog_bytes",
     .dimension = Bytes,
     .kind = Level,
     .whole_run = false,
     .queue = [](const Queue &q) { return Cell{.distribution = &q.backlog_bytes}; },
     .distribution = true},
    queue_row("packets", Plain, Counter, [](const Queue &q) { return cell(q.packets); }),
    queue_row("marked", Plain, Counter, [](const Queue &q) { return cell(q.marked); }),
    queue_row("dropped", Plain, Counter, [](const Queue &q) { return cell(q.dropped); }),
    queue_row("pauses", Plain, Counter, [](const Queue &q) { return cell(q.pauses); }),
    queue_row("paused_ns", Time, Counter, [](const Queue &q) { return cell(q.paused_ns); }),
    queue_row("pfc_sent", Plain, Counter, [](const Queue &q) { return cell(q.pfc_sent); }),
    queue_row("utilisation", Plain, Level, [](const Queue &q) { return cell(q.utilisation); }),
};

constexpr ColumnRow rule_row(const char *name, Dimension dimension,
                             Cell (*get)(const ExperimentRule &)) {
  return {.name = name, .dimension = dimension, .kind = Counter, .whole_run = true, .rule = get};
}

constexpr ColumnRow kRules[] = {
    rule_row("matched", Plain, [](const ExperimentRule &r) { return cell(r.matched); }),
    rule_row("acted", Plain, [](const ExperimentRule &r) { return cell(r.acted); }),
    rule_row("matched_bytes", Bytes, [](const ExperimentRule &r) { return cell(r.matched_bytes); }),
    rule_row("acted_bytes", Bytes, [](const ExperimentRule &r) { return cell(r.acted_bytes); }),
    rule_row("spared", Plain, [](const ExperimentRule &r) { return cell(r.spared); }),
    rule_row("limited", Plain, [](const ExperimentRule &r) { return cell(r.limited); }),
    rule_row("not_applicable", Plain,
             [](const ExperimentRule &r) { return cell(r.not_applicable); }),
    rule_row("refused", Plain, [](const ExperimentRule &r) { return cell(r.refused); }),
    rule_row("not_held", Plain, [](const ExperimentRule &r) { return cell(r.not_held); }),
};

constexpr RowWords kRowWords[] = {{"flow", "flows", RowKind::Flow},
                                  {"queue", "queues", RowKind::Queue},
                                  {"rule", "rules", RowKind::Rule},
                                  {"episode", "episodes", RowKind::Episode},
                                  {"retransmission", "retransmissions", RowKind::Episode},
                                  {"finding", "findings", RowKind::Finding},
                                  {"event", "events", RowKind::Event},
                                  {"QP pair", "go_back_n", RowKind::GoBackN},
                                  {"receiver", "cnp_pacing", RowKind::CnpPacing},
                                  {"count", "count_checks", RowKind::CountCheck}};

constexpr ColumnRow total_row(const char *name, Dimension dimension, ColumnKind kind,
                              Cell (*get)(const Total &)) {
  return {.name = name, .dimension = dimension, .kind = kind, .whole_run = true, .total = get};
}

constexpr ColumnRow kTotals[] = {
    total_row("jain", Plain, Level, [](const Total &t) { return cell(t.jain); }),
    total_row("packets", Plain, Counter, [](const Total &t) { return cell(t.packets); }),
    total_row("packet_hops", Plain, Counter, [](const Total &t) { return cell(t.packet_hops); }),
    total_row("duration_ns", Time, Value, [](const Total &t) { return cell(t.duration_ns); }),
};

constexpr ColumnRow prediction_row(const char *name, Dimension dimension,
                                   Cell (*get)(const Prediction &)) {
  return {
      .name = name, .dimension = dimension, .kind = Value, .whole_run = true, .prediction = get};
}

constexpr ColumnRow kPrediction[] = {
    prediction_row("mark_probability", Plain,
                   [](const Prediction &p) { return cell(p.mark_probability); }),
    prediction_row("queue_bytes", Bytes, [](const Prediction &p) { return cell(p.queue_bytes); }),
    prediction_row("alpha", Plain, [](const Prediction &p) { return cell(p.alpha); }),
    prediction_row("share_bps", Rate, [](const Prediction &p) { return cell(p.share_bps); }),
    prediction_row("convergence_ns", Time,
                   [](const Prediction &p) { return cell(p.convergence_ns); }),
    prediction_row("stable", Plain, [](const Prediction &p) { return cell(p.stable); }),
};

// "recovery" of recovery_ns.
std::string_view without_unit(const ColumnRow &column) {
  const std::string_view name = column.name;
  return name.ends_with("_ns") ? name.substr(0, name.size() - 3) : name;
}

constexpr double kMilliseconds = 1e-6, kGigabits = 1e-9;

constexpr ColumnAlias kAliases[] = {
    {"data_frames_tx", "packets", 1},
    {"data_frames_retransmitted", "retransmitted", 1},
    {"frame_delta", "drops", 1},
    {"ecn_ce_rx", "marked", 1},
    {"cnp_rx", "cnps", 1},
    {"nak_rx", "naks", 1},
    {"frame_sequence_error", "naks", 1},
    {"message_fail", "failed", 1},
    {"dest_qp", "qp", 1},
    {"data_rx_rate", "rate_bps", kGigabits},
    {"flow_completion_time", "fct_ns", kMilliseconds},
};

} // namespace

const char *dimension_name(Dimension dimension) {
  switch (dimension) {
  case Bytes:
    return "a number of bytes";
  case Rate:
    return "a rate";
  case Time:
    return "a time";
  default:
    return "a plain number";
  }
}

std::span<const ColumnRow> columns_of(RowKind kind) {
  switch (kind) {
  case RowKind::Flow:
    return kFlows;
  case RowKind::Queue:
    return kQueues;
  case RowKind::Rule:
    return kRules;
  case RowKind::Total:
    return kTotals;
  case RowKind::Prediction:
    return kPrediction;
  default:
    return answer_columns(kind);
  }
}

std::span<const RowWords> row_words() { return kRowWords; }

bool names_rows(std::string_view word, const RowWords &words) {
  return word == words.many || (word == words.one && !is_answer(words.kind));
}

const RowWords *row_words(RowKind kind) {
  for (const RowWords &words : kRowWords)
    if (words.kind == kind)
      return &words;
  return nullptr;
}

std::span<const ColumnAlias> column_aliases() { return kAliases; }

FoundColumn find_column(RowKind kind, const std::string &name) {
  FoundColumn found;
  std::string_view ours = name;
  if (kind == RowKind::Flow)
    for (const ColumnAlias &alias : kAliases)
      if (name == alias.otg) {
        ours = alias.ours;
        found.scale = alias.scale;
      }
  if (is_answer(kind))
    ours = answer_column(ours);
  for (const ColumnRow &column : columns_of(kind))
    if (ours == column.name || ours == without_unit(column))
      found.column = &column;
  return found;
}

std::string column_hint(RowKind kind, const std::string &name) {
  std::vector<std::string_view> names, more;
  for (const ColumnRow &column : columns_of(kind)) {
    names.emplace_back(column.name);
    more.push_back(without_unit(column));
  }
  if (kind == RowKind::Flow)
    for (const ColumnAlias &alias : kAliases)
      names.emplace_back(alias.otg);
  const size_t listed = names.size();
  names.insert(names.end(), more.begin(), more.end());
  if (parse::nearest(name, names).empty())
    names.resize(listed);
  return parse::hint_from(name, names);
}

} // namespace xr::experiment
