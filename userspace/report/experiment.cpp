// SPDX-License-Identifier: Apache-2.0
#include "report/experiment.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace xr::report {

namespace {

constexpr size_t kMostRows = 16; // of flows and queues, in text

using Rows = std::vector<std::vector<Value>>;
using Outcome = ExperimentCheck::Outcome;

Section json(const char *key, Value value) { return {key, "", std::move(value), Where::Json}; }

template <typename T> Value maybe(const std::optional<T> &value) {
  return value ? Value{*value} : Value{};
}

std::string milliseconds(uint64_t ns) {
  return fmt::format("{:g} ms", static_cast<double>(ns) / 1e6);
}

Value number_text(const std::optional<double> &value) {
  return value ? Value{fmt::format("{:.6g}", *value)} : Value{};
}

const char *outcome_name(Outcome outcome) {
  switch (outcome) {
  case Outcome::Holds:
    return "holds";
  case Outcome::Fails:
    return "FAILS";
  default:
    return "VOID";
  }
}

std::string where_text(const ExperimentCheck &check) {
  if (!check.why.empty())
    return check.why;
  std::string text = check.row;
  if (check.t_ns)
    text += fmt::format("{}at {}", text.empty() ? "" : " ", milliseconds(*check.t_ns));
  return text;
}

Section expectations_json(const std::vector<ExperimentCheck> &checks) {
  Rows rows;
  for (const ExperimentCheck &check : checks)
    rows.push_back({check.text, check.outcome == Outcome::Holds, maybe(check.value),
                    maybe(check.bound), check.row.empty() ? Value{} : Value{check.row},
                    maybe(check.t_ns), check.why.empty() ? Value{} : Value{check.why}});
  return {"expectations", "",
          make_table({{"text", ""},
                      {"holds", ""},
                      {"value", ""},
                      {"bound", ""},
                      {"row", ""},
                      {"t_ns", ""},
                      {"why", ""}},
                     std::move(rows)),
          Where::Json};
}

Section expectations_text(const std::vector<ExperimentCheck> &checks) {
  Rows rows;
  for (const ExperimentCheck &check : checks)
    rows.push_back({std::string(outcome_name(check.outcome)), check.text, number_text(check.value),
                    number_text(check.bound), where_text(check)});
  return {"expectations_text", "",
          make_table({{"outcome", ""},
                      {"text", "EXPECTATION"},
                      {"value", "VALUE", Format::Number},
                      {"bound", "BOUND", Format::Number},
                      {"where", "WHERE", Format::Text, Hide::Zero}},
                     std::move(rows)),
          Where::Text, Hide::Zero};
}

std::optional<uint64_t> whole(const std::optional<double> &value) {
  return value ? std::optional<uint64_t>(static_cast<uint64_t>(*value + 0.5)) : std::nullopt;
}

Section prediction_json(const ExperimentPrediction &p) {
  const auto field = [](const char *key, Value value) {
    return Field{{key, ""}, std::move(value)};
  };
  return {"prediction", "",
          Group{field("mark_probability", maybe(p.mark_probability)),
                field("queue_bytes", maybe(whole(p.queue_bytes))), field("alpha", maybe(p.alpha)),
                field("share_bps", maybe(whole(p.share_bps))),
                field("convergence_ns", maybe(whole(p.convergence_ns))),
                field("stable", maybe(p.stable)), field("applies", p.applies),
                field("why", p.why.empty() ? Value{} : Value{p.why})},
          Where::Json};
}

Section prediction_text(const ExperimentPrediction &p) {
  const auto field = [](const char *key, const char *heading, const auto &value, double scale,
                        const char *unit) {
    return Field{{key, heading, Format::Number, Hide::Zero},
                 value ? Value{fmt::format("{:.4g} {}", *value * scale, unit)} : Value{}};
  };
  Section section{
      "prediction_text", "THEORY",
      Group{field("queue_bytes", "queue", p.queue_bytes, 1e-3, "KB"),
            field("mark_probability", "marked", p.mark_probability, 100, "%"),
            field("share_bps", "fair share", p.share_bps, 1e-9, "Gbit/s"),
            field("convergence_ns", "converged within", p.convergence_ns, 1e-6, "ms"),
            {{"stable", "stable", Format::Text, Hide::Zero},
             p.stable ? Value{std::string(*p.stable ? "yes" : "no")} : Value{}},
            {{"applies", "applies", Format::Text, Hide::Zero}, p.why.empty() ? p.applies : ""}},
      Where::Text};
  section.hide = Hide::Zero;
  return section;
}

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

Table flows_table(const std::vector<ExperimentFlow> &flows, size_t most) {
  using enum Format;
  const auto json_only = [](const char *key) {
    return Column{key, "", Text, Hide::Never, Tone::Plain, Where::Json};
  };
  return {{{"name", "FLOW"},
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
           {"naks", "NAKS", Count, Hide::Zero}},
          std::min(flows.size(), most),
          [&flows](size_t row, size_t column) { return flow_cell(flows[row], column); }};
}

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
  default:
    return q.alias.empty() ? Value{} : Value{q.alias};
  }
}

// `order`: which queues, by index.
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
           {"alias", "", Text, Hide::Never, Tone::Plain, Where::Json}},
          rows,
          [&queues, order = std::move(order)](size_t row, size_t column) {
            return queue_cell(queues[order[row]], column);
          }};
}

std::vector<size_t> all_of(size_t size) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

// Those with the longest backlogs; none where nothing waited.
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

std::string more_rows(size_t all, size_t shown, const char *what) {
  return all > shown ? fmt::format("{} more {} in result.json", all - shown, what) : "";
}

Section totals_text(const ExperimentResult &result) {
  const ExperimentMeasurement &m = result.measured;
  const double speed = m.cpu_s > 0 ? static_cast<double>(m.packet_hops) / m.cpu_s : 0;
  return {"totals", "",
          Group{{{"jain", "Jain's index"}, fmt::format("{:.4f}", m.jain)},
                {{"packets", "packets", Format::Count}, m.packets},
                {{"duration", "simulated"}, milliseconds(m.duration_ns)},
                {{"wall_s", "real time"}, fmt::format("{:.2f} s", m.wall_s)},
                {{"speed", "packet-hops/s", Format::Scaled}, speed}},
          Where::Text};
}

} // namespace

Document experiment_report(const ExperimentResult &result) {
  const ExperimentMeasurement &m = result.measured;
  Document document;
  document.title = fmt::format("{}: {}", result.name, verdict_name(result.verdict));
  auto &s = document.sections;
  s.push_back(json("schema", uint64_t{1}));
  s.push_back(json("experiment", result.name));
  s.push_back(json("place", result.place));
  if (result.scale != 1)
    s.push_back(json("scale", result.scale));
  s.push_back(json("seed", result.seed));
  s.push_back(json("verdict", std::string(verdict_name(result.verdict))));
  s.push_back({"why_void", "void because", Value{StringList(m.why_void)}, Where::Both, Hide::Zero,
               Tone::Alarm});
  s.push_back(expectations_json(result.checks));
  s.push_back(expectations_text(result.checks));
  s.push_back(prediction_json(result.prediction));
  s.push_back(prediction_text(result.prediction));
  s.push_back(totals_text(result));
  s.push_back({"flows", "", flows_table(m.flows, m.flows.size()), Where::Json});
  s.push_back({"flows_text", "", flows_table(m.flows, kMostRows), Where::Text, Hide::Never,
               Tone::Plain, more_rows(m.flows.size(), kMostRows, "flows")});
  s.push_back({"queues", "", queues_table(m.queues, all_of(m.queues.size())), Where::Json});
  s.push_back({"queues_text", "", queues_table(m.queues, busiest(m.queues)), Where::Text});
  s.push_back(json("jain", m.jain));
  s.push_back(json("packets", m.packets));
  s.push_back(json("packet_hops", m.packet_hops));
  s.push_back(json("duration_ns", m.duration_ns));
  s.push_back(json("wall_s", m.wall_s));
  s.push_back(json("cpu_s", m.cpu_s));
  s.push_back(json("version", result.version));
  return document;
}

Document experiment_list(const std::vector<ExperimentEntry> &entries) {
  Rows rows;
  for (const ExperimentEntry &entry : entries)
    rows.push_back({entry.name, entry.about, entry.path});
  Document document;
  document.sections.push_back(json("schema", uint64_t{1}));
  document.sections.push_back(
      {"experiments", "",
       make_table({{"name", "EXPERIMENT"},
                   {"about", "WHAT"},
                   {"path", "", Format::Text, Hide::Never, Tone::Plain, Where::Json}},
                  std::move(rows))});
  return document;
}

} // namespace xr::report
