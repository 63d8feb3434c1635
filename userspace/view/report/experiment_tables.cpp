// SPDX-License-Identifier: Apache-2.0
#include "report/experiment_tables.h"

#include "report/cells.h"

#include <algorithm>
#include <numeric>

namespace xr::report {

namespace {

struct FlowColumn {
  Column column;
  Value (*cell)(const ExperimentFlow &);
};

const std::vector<FlowColumn> &flow_columns() {
  using enum Format;
  using F = ExperimentFlow;
  static const std::vector<FlowColumn> kColumns = {
      {{"name", "FLOW"}, [](const F &f) -> Value { return f.name; }},
      {{"src", "FROM"}, [](const F &f) -> Value { return f.src; }},
      {{"dst", "TO"}, [](const F &f) -> Value { return f.dst; }},
      {json_only("qp"), [](const F &f) -> Value { return uint64_t{f.qp}; }},
      {json_only("bytes"), [](const F &f) -> Value { return f.bytes; }},
      {{"packets", "PACKETS", Count}, [](const F &f) -> Value { return f.packets; }},
      {{"goodput_bps", "GOODPUT\nbit/s", Scaled},
       [](const F &f) -> Value { return f.goodput_bps; }},
      {{"wire_bps", "WIRE\nbit/s", Scaled}, [](const F &f) -> Value { return f.wire_bps; }},
      {json_only("start_ns"), [](const F &f) -> Value { return f.start_ns; }},
      {json_only("end_ns"), [](const F &f) -> Value { return maybe(f.end_ns); }},
      {{"fct_ns", "FCT\nns", Count, Hide::Zero},
       [](const F &f) -> Value { return maybe(f.fct_ns); }},
      {{"slowdown", "SLOWDOWN", Rate, Hide::Zero},
       [](const F &f) -> Value { return maybe(f.slowdown); }},
      {{"marked", "MARKED", Count, Hide::Zero}, [](const F &f) -> Value { return f.marked; }},
      {{"cnps", "CNPS", Count, Hide::Zero}, [](const F &f) -> Value { return f.cnps; }},
      {{"cuts", "CUTS", Count, Hide::Zero}, [](const F &f) -> Value { return f.cuts; }},
      {{"retransmitted", "RESENT", Count, Hide::Zero},
       [](const F &f) -> Value { return f.retransmitted; }},
      {{"timeouts", "TIMEOUTS", Count, Hide::Zero}, [](const F &f) -> Value { return f.timeouts; }},
      {{"drops", "DROPS", Count, Hide::Zero, Tone::Alarm},
       [](const F &f) -> Value { return f.drops; }},
      {{"kept_no_room", "NO ROOM\nto keep", Count, Hide::Zero, Tone::Alarm},
       [](const F &f) -> Value { return f.kept_no_room; }},
      {{"failed", "FAILED", Count, Hide::Zero, Tone::Alarm},
       [](const F &f) -> Value { return f.failed; }},
      {{"naks", "NAKS", Count, Hide::Zero}, [](const F &f) -> Value { return f.naks; }},
  };
  return kColumns;
}

} // namespace

Table flows_table(const ExperimentMeasurement &measured, size_t most) {
  std::vector<Column> columns;
  std::vector<bool> unmeasured;
  for (const FlowColumn &flow_column : flow_columns()) {
    const std::string &key = flow_column.column.key;
    columns.push_back(flow_column.column);
    unmeasured.push_back(measured.unmeasured.contains(key));
  }
  const std::vector<ExperimentFlow> &flows = measured.flows;
  return {std::move(columns), std::min(flows.size(), most),
          [&flows, unmeasured](size_t row, size_t column) {
            return unmeasured[column] ? Value{} : flow_columns()[column].cell(flows[row]);
          }};
}

namespace {

Value queue_cell(const ExperimentQueue &q, size_t column) {
  const Histogram &backlog = q.backlog_bytes;
  switch (column) {
  case 0:
    return q.name;
  case 1:
    return backlog.mean();
  case 2:
    return backlog.quantile(0.5);
  case 3:
    return backlog.quantile(0.99);
  case 4:
    return backlog.max();
  case 5:
    return q.packets;
  case 6:
    return q.marked;
  case 7:
    return q.dropped;
  case 8:
    return q.pauses;
  case 9:
    return q.paused_ns;
  case 10:
    return q.utilisation;
  case 12:
    return maybe(q.pfc_sent);
  case 13:
    return maybe(q.flows);
  default:
    return known(q.alias);
  }
}

} // namespace

Table queues_table(const std::vector<ExperimentQueue> &queues, std::vector<size_t> order) {
  using enum Format;
  const size_t rows = order.size();
  return {{{"name", "QUEUE"},
           {"backlog_bytes.mean", "BYTES\nmean", Rate},
           {"backlog_bytes.p50", "\np50", Count},
           {"backlog_bytes.p99", "\np99", Count},
           {"backlog_bytes.max", "\nmax", Count},
           {"packets", "PACKETS", Count},
           {"marked", "MARKED", Count, Hide::Zero},
           {"dropped", "DROPPED", Count, Hide::Zero, Tone::Alarm},
           {"pauses", "PAUSES", Count, Hide::Zero},
           {"paused_ns", "PAUSED\nns", Count, Hide::Zero},
           {"utilisation", "UTILISATION", Number},
           {"alias", "", Text, Hide::Never, Tone::Plain, Where::Json},
           {"pfc_sent", "PFC\nSENT", Count, Hide::Zero},
           {"flows", "FLOWS", Count, Hide::Zero}},
          rows,
          [&queues, order = std::move(order)](size_t row, size_t column) {
            return queue_cell(queues[order[row]], column);
          }};
}

Section rules_section(const std::vector<ExperimentRule> &rules) {
  using enum Format;
  std::vector<std::vector<Value>> rows;
  rows.reserve(rules.size());
  for (const ExperimentRule &r : rules)
    rows.push_back({r.name, r.link, r.matched, r.acted, r.matched_bytes, r.acted_bytes, r.spared,
                    r.limited, r.not_applicable, r.refused, r.not_held, r.words});
  return {"rules", "",
          make_table({{"name", "RULE"},
                      {"link", "TO"},
                      {"matched", "MATCHED", Count},
                      {"acted", "ACTED", Count},
                      json_only("matched_bytes"),
                      json_only("acted_bytes"),
                      {"spared", "SPARED", Count, Hide::Zero},
                      {"limited", "LIMITED", Count, Hide::Zero},
                      {"not_applicable", "NOT APPLICABLE", Count, Hide::Zero},
                      {"refused", "REFUSED", Count, Hide::Zero},
                      {"not_held", "NOT HELD", Count, Hide::Zero, Tone::Alarm},
                      {"words", "WORDS"}},
                     std::move(rows)),
          rules.empty() ? Where::Json : Where::Both};
}

std::vector<size_t> all_of(size_t size) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

std::vector<size_t> busiest(const std::vector<ExperimentQueue> &queues) {
  std::vector<size_t> order = all_of(queues.size());
  std::erase_if(order, [&](size_t i) {
    const ExperimentQueue &q = queues[i];
    return !q.backlog_bytes.max() && !q.marked && !q.dropped && !q.paused_ns;
  });
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return queues[a].backlog_bytes.mean() > queues[b].backlog_bytes.mean();
  });
  order.resize(std::min(order.size(), kMostRows));
  return order;
}

} // namespace xr::report
