// SPDX-License-Identifier: Apache-2.0
#include "expect/columns.h"

#include <algorithm>

#include "expect/answer_columns.h"
#include "otg/columns.h"
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

constexpr ColumnRow flow_text(const char *name, Texts texts, Cell (*get)(const Flow &)) {
  return {.name = name,
          .dimension = Plain,
          .kind = Value,
          .whole_run = true,
          .flow = get,
          .texts = texts};
}

// To add a column: the struct in model/experiment.h, a row here, report/experiment_tables.cpp;
// experiment_expectation_test, experiment_report_test.
constexpr ColumnRow kFlows[] = {
    flow_row("goodput_bps", Rate, Level, false, [](const Flow &f) { return cell(f.goodput_bps); }),
    flow_row("wire_bps", Rate, Level, false, [](const Flow &f) { return cell(f.wire_bps); }),
    flow_row("control_bps", Rate, Sampled, false, [](const Flow &) { return Cell{}; }),
    flow_row("target_bps", Rate, Sampled, false, [](const Flow &) { return Cell{}; }),
    flow_row("alpha", Plain, Sampled, false, [](const Flow &) { return Cell{}; }),
    flow_row("bytes", Bytes, Counter, false, [](const Flow &f) { return cell(f.bytes); }),
    flow_row("packets", Plain, Counter, false, [](const Flow &f) { return cell(f.packets); }),
    flow_row("start_ns", Time, Value, true, [](const Flow &f) { return cell(f.start_ns); }),
    flow_row("end_ns", Time, Value, true, [](const Flow &f) { return cell(f.end_ns); }),
    flow_row("fct_ns", Time, Value, true, [](const Flow &f) { return cell(f.fct_ns); }),
    flow_row("slowdown", Plain, Value, true, [](const Flow &f) { return cell(f.slowdown); }),
    flow_row("marked", Plain, Counter, false, [](const Flow &f) { return cell(f.marked); }),
    flow_row("cnps", Plain, Counter, false, [](const Flow &f) { return cell(f.cnps); }),
    flow_row("cuts", Plain, Counter, false, [](const Flow &f) { return cell(f.cuts); }),
    flow_row("retransmitted", Plain, Counter, false,
             [](const Flow &f) { return cell(f.retransmitted); }),
    flow_row("timeouts", Plain, Counter, false, [](const Flow &f) { return cell(f.timeouts); }),
    flow_row("naks", Plain, Counter, false, [](const Flow &f) { return cell(f.naks); }),
    flow_row("drops", Plain, Counter, false, [](const Flow &f) { return cell(f.drops); }),
    flow_row("failed", Plain, Counter, false, [](const Flow &f) { return cell(f.failed); }),
    flow_row("kept_no_room", Plain, Counter, false,
             [](const Flow &f) { return cell(f.kept_no_room); }),
    flow_row("qp", Plain, Value, true, [](const Flow &f) { return cell(f.qp); }),
    flow_row("arrived", Plain, Counter, false, [](const Flow &f) { return cell(f.arrived); }),
    flow_row("messages", Plain, Counter, false, [](const Flow &f) { return cell(f.messages); }),
    flow_row("acks", Plain, Counter, false, [](const Flow &f) { return cell(f.acks); }),
    flow_text("name", Texts::Flows, [](const Flow &f) { return Cell{.text = f.name}; }),
    flow_text("src", Texts::Any, [](const Flow &f) { return Cell{.text = f.src}; }),
    flow_text("dst", Texts::Any, [](const Flow &f) { return Cell{.text = f.dst}; }),
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
    queue_row("flows", Plain, Value, [](const Queue &q) { return cell(q.flows); }),
};

constexpr ColumnRow rule_row(const char *name, Dimension dimension,
                             Cell (*get)(const ExperimentRule &)) {
  return {.name = name, .dimension = dimension, .kind = Counter, .whole_run = false, .rule = get};
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

uint64_t most_excess_ns(const ExperimentJob &job) {
  uint64_t most = 0;
  for (const ExperimentJob::Step &step : job.steps)
    most = std::max(most, step.excess_ns);
  return most;
}

constexpr ColumnRow job_row(const char *name, Dimension dimension,
                            Cell (*get)(const ExperimentJob &)) {
  return {.name = name, .dimension = dimension, .kind = Value, .whole_run = true, .job = get};
}

constexpr ColumnRow step_row(const char *name, Dimension dimension,
                             Cell (*get)(const ExperimentJob &),
                             double (*step)(const ExperimentJob::Step &)) {
  return {.name = name,
          .dimension = dimension,
          .kind = Stepwise,
          .whole_run = true,
          .job = get,
          .step = step};
}

constexpr ColumnRow kJobs[] = {
    {.name = "step_ns",
     .dimension = Time,
     .kind = Stepwise,
     .whole_run = true,
     .job = [](const ExperimentJob &j) { return Cell{.distribution = &j.step_ns}; },
     .distribution = true,
     .step =
         [](const ExperimentJob::Step &s) { return static_cast<double>(*s.end_ns - s.start_ns); }},
    job_row("steps", Plain, [](const ExperimentJob &j) { return cell(j.step_ns.count()); }),
    step_row(
        "algbw_bps", Rate, [](const ExperimentJob &j) { return cell(j.algbw_bps); },
        [](const ExperimentJob::Step &s) { return s.algbw_bps; }),
    step_row(
        "busbw_bps", Rate, [](const ExperimentJob &j) { return cell(j.busbw_bps); },
        [](const ExperimentJob::Step &s) { return s.busbw_bps; }),
    step_row(
        "overlap", Plain, [](const ExperimentJob &j) { return cell(j.overlap); },
        [](const ExperimentJob::Step &s) { return s.overlap; }),
    step_row(
        "excess_ns", Time, [](const ExperimentJob &j) { return cell(most_excess_ns(j)); },
        [](const ExperimentJob::Step &s) { return static_cast<double>(s.excess_ns); }),
    job_row("late_rank", Plain,
            [](const ExperimentJob &j) {
              const auto late = late_rank(j);
              return late ? cell(late->rank) : Cell{};
            }),
    job_row("late_steps", Plain,
            [](const ExperimentJob &j) {
              const auto late = late_rank(j);
              return cell(late ? late->steps : 0);
            }),
    job_row("messages", Plain, [](const ExperimentJob &j) { return cell(j.messages); }),
    job_row("bytes", Bytes, [](const ExperimentJob &j) { return cell(j.bytes); }),
    job_row("left", Plain, [](const ExperimentJob &j) { return cell(j.left); }),
    job_row("incast", Plain, [](const ExperimentJob &j) { return cell(j.incast); }),
    {.name = "incast_ranks",
     .dimension = Plain,
     .kind = Value,
     .whole_run = true,
     .job = [](const ExperimentJob &j) { return Cell{.distribution = &j.incast_ranks}; },
     .distribution = true},
};

using RankRow = ExperimentJob::Rank;
constexpr ColumnRow rank_row(const char *name, Dimension dimension, Cell (*get)(const RankRow &)) {
  return {.name = name, .dimension = dimension, .kind = Value, .whole_run = true, .rank = get};
}

constexpr ColumnRow kRanks[] = {
    rank_row("compute_ns", Time, [](const RankRow &r) { return cell(r.compute_ns); }),
    rank_row("exchange_ns", Time, [](const RankRow &r) { return cell(r.exchange_ns); }),
    rank_row("wait_ns", Time, [](const RankRow &r) { return cell(r.wait_ns); }),
    rank_row("cts_to_data_ns", Time, [](const RankRow &r) { return cell(r.cts_to_data_ns); }),
    rank_row("data_to_cts_ns", Time, [](const RankRow &r) { return cell(r.data_to_cts_ns); }),
    rank_row("slowest", Plain, [](const RankRow &r) { return cell(r.slowest); }),
};

constexpr RowWords kRowWords[] = {{"flow", "flows", RowKind::Flow},
                                  {"queue", "queues", RowKind::Queue},
                                  {"rule", "rules", RowKind::Rule},
                                  {"job", "jobs", RowKind::Job},
                                  {"rank", "ranks", RowKind::Rank},
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
    total_row("flow_imbalance", Plain, Value,
              [](const Total &t) { return cell(t.flow_imbalance); }),
    total_row("flow_collisions", Plain, Value,
              [](const Total &t) { return cell(t.flow_collisions); }),
    total_row("packets", Plain, Counter, [](const Total &t) { return cell(t.packets); }),
    total_row("packet_hops", Plain, Counter, [](const Total &t) { return cell(t.packet_hops); }),
    total_row("duration_ns", Time, Value, [](const Total &t) { return cell(t.duration_ns); }),
};

// The getters are made from the members, so that a row is one line.
template <uint64_t ExperimentFlowCounts::*Count> Cell of_flows(const Total &t) {
  return cell(whole_run(t).flows.*Count);
}
template <uint64_t WholeRun::*Count> Cell of_rules(const Total &t) {
  return cell(whole_run(t).*Count);
}

constexpr ColumnRow kWhole[] = {
    total_row("bytes", Bytes, Counter, of_flows<&ExperimentFlowCounts::bytes>),
    total_row("packets", Plain, Counter, of_flows<&ExperimentFlowCounts::packets>),
    total_row("marked", Plain, Counter, of_flows<&ExperimentFlowCounts::marked>),
    total_row("cnps", Plain, Counter, of_flows<&ExperimentFlowCounts::cnps>),
    total_row("cuts", Plain, Counter, of_flows<&ExperimentFlowCounts::cuts>),
    total_row("retransmitted", Plain, Counter, of_flows<&ExperimentFlowCounts::retransmitted>),
    total_row("timeouts", Plain, Counter, of_flows<&ExperimentFlowCounts::timeouts>),
    total_row("naks", Plain, Counter, of_flows<&ExperimentFlowCounts::naks>),
    total_row("drops", Plain, Counter, of_flows<&ExperimentFlowCounts::drops>),
    total_row("failed", Plain, Counter, of_flows<&ExperimentFlowCounts::failed>),
    total_row("kept_no_room", Plain, Counter, of_flows<&ExperimentFlowCounts::kept_no_room>),
    total_row("rules_matched", Plain, Counter, of_rules<&WholeRun::rules_matched>),
    total_row("rules_acted", Plain, Counter, of_rules<&WholeRun::rules_acted>),
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

// The name of a flow's goodput before 1.0.
constexpr std::string_view kOldRate = "rate_bps";

constexpr double kMilliseconds = 1e-6, kGigabits = 1e-9;

constexpr const char *kNames = "hosts are named: port_tx and port_rx";
constexpr const char *kAtSender = "answers are counted where they arrive: ack_rx, nak_rx, cnp_rx";
constexpr const char *kAtReceiver = "bytes are counted where they arrive: rx_bytes, data_rx_rate";
constexpr const char *kNoStamps =
    "frames have no time of sending: capture, and analyze --latency of its files";

// All columns of OTG (otg/columns.h), in its order.
constexpr ColumnAlias kAliases[] = {
    {"flow_name", "name"},
    {"port_tx", "src"},
    {"port_rx", "dst"},
    {"src_qp", nullptr, 1, "only destinations have a QPN: dest_qp"},
    {"dest_qp", "qp"},
    {"src_ipv4", nullptr, 1, kNames},
    {"dest_ipv4", nullptr, 1, kNames},
    {"data_frames_tx", "packets"},
    {"data_frames_rx", "arrived"},
    {"frame_delta", "drops"},
    {"data_frames_retransmitted", "retransmitted"},
    {"frame_sequence_error", "naks"},
    {"tx_bytes", nullptr, 1, kAtReceiver},
    {"rx_bytes", "bytes"},
    {"data_tx_rate", nullptr, 1, kAtReceiver},
    {"data_rx_rate", "goodput_bps", kGigabits},
    {"message_tx", nullptr, 1, "messages are counted when they are complete: message_complete_rx"},
    {"message_complete_rx", "messages"},
    {"message_fail", "failed"},
    {"flow_completion_time", "fct_ns", kMilliseconds},
    {"avg_latency", nullptr, 1, kNoStamps},
    {"min_latency", nullptr, 1, kNoStamps},
    {"max_latency", nullptr, 1, kNoStamps},
    {"ecn_ce_rx", "marked"},
    {"cnp_tx", nullptr, 1, kAtSender},
    {"cnp_rx", "cnps"},
    {"ack_tx", nullptr, 1, kAtSender},
    {"ack_rx", "acks"},
    {"nak_tx", nullptr, 1, kAtSender},
    {"nak_rx", "naks"},
    {"first_timestamp", "start_ns"},
    {"last_timestamp", "end_ns"},
};
static_assert(std::ranges::equal(
    kAliases, otg::kQpColumns, {},
    [](const ColumnAlias &alias) { return std::string_view(alias.otg); },
    [](const char *name) { return std::string_view(name); }));

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
  case RowKind::Job:
    return kJobs;
  case RowKind::Rank:
    return kRanks;
  case RowKind::Total:
    return kTotals;
  case RowKind::Whole:
    return kWhole;
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
        if (!alias.ours)
          return {.why = alias.why};
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
  if (kind == RowKind::Flow && name == kOldRate)
    return "write goodput_bps, its name since 0.9";
  std::vector<std::string_view> names, more;
  for (const ColumnRow &column : columns_of(kind)) {
    names.emplace_back(column.name);
    more.push_back(without_unit(column));
  }
  if (kind == RowKind::Flow)
    for (const ColumnAlias &alias : kAliases)
      if (alias.ours)
        names.emplace_back(alias.otg);
  const size_t listed = names.size();
  names.insert(names.end(), more.begin(), more.end());
  if (parse::nearest(name, names).empty())
    names.resize(listed);
  return parse::hint_from(name, names);
}

} // namespace xr::experiment
