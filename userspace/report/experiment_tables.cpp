// SPDX-License-Identifier: Apache-2.0
#include "report/experiment_tables.h"

#include <algorithm>
#include <numeric>

namespace xr::report {

namespace {

Value flow_cell(const ExperimentFlow &f, size_t column) {
  switch (column) {
  case 0:
    return f.name;
  case 1:
    return f.src;
  case 2:
    return f.dst;
  case 3:
    return uint64_t{f.qp};
  case 4:
    return f.bytes;
  case 5:
    return f.packets;
  case 6:
    return f.rate_bps;
  case 7:
    return f.start_ns;
  case 8:
    return maybe(f.end_ns);
  case 9:
    return maybe(f.fct_ns);
  case 10:
    return maybe(f.slowdown);
  case 11:
    return f.marked;
  case 12:
    return f.cnps;
  case 13:
    return f.cuts;
  case 14:
    return f.retransmitted;
  case 15:
    return f.timeouts;
  case 16:
    return f.drops;
  case 17:
    return f.failed;
  default:
    return f.naks;
  }
}

} // namespace

Table flows_table(const ExperimentMeasurement &measured, size_t most) {
  using enum Format;
  const auto json_only = [](const char *key) {
    return Column{key, "", Text, Hide::Never, Tone::Plain, Where::Json};
  };
  std::vector<Column> columns = {{"name", "FLOW"},
                                 {"src", "FROM"},
                                 {"dst", "TO"},
                                 json_only("qp"),
                                 json_only("bytes"),
                                 {"packets", "PACKETS", Count},
                                 {"rate_bps", "BIT/S", Scaled},
                                 json_only("start_ns"),
                                 json_only("end_ns"),
                                 {"fct_ns", "FCT\nns", Count, Hide::Zero},
                                 {"slowdown", "SLOWDOWN", Rate, Hide::Zero},
                                 {"marked", "MARKED", Count, Hide::Zero},
                                 {"cnps", "CNPS", Count, Hide::Zero},
                                 {"cuts", "CUTS", Count, Hide::Zero},
                                 {"retransmitted", "RESENT", Count, Hide::Zero},
                                 {"timeouts", "TIMEOUTS", Count, Hide::Zero},
                                 {"drops", "DROPS", Count, Hide::Zero, Tone::Alarm},
                                 {"failed", "FAILED", Count, Hide::Zero, Tone::Alarm},
                                 {"naks", "NAKS", Count, Hide::Zero}};
  std::vector<bool> unmeasured;
  unmeasured.reserve(columns.size());
  for (const Column &column : columns)
    unmeasured.push_back(measured.unmeasured.contains(column.key));
  const std::vector<ExperimentFlow> &flows = measured.flows;
  return {std::move(columns), std::min(flows.size(), most),
          [&flows, unmeasured](size_t row, size_t column) {
            return unmeasured[column] ? Value{} : flow_cell(flows[row], column);
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
  default:
    return q.alias.empty() ? Value{} : Value{q.alias};
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
           {"pfc_sent", "PFC\nSENT", Count, Hide::Zero}},
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
  const auto json_only = [](const char *key) {
    return Column{key, "", Text, Hide::Never, Tone::Plain, Where::Json};
  };
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
