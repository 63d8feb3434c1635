// SPDX-License-Identifier: Apache-2.0
// The points of a sweep side by side: the busiest queue, the flows' rates, marks and losses.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/experiment.h"

namespace xr::report {

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

std::string settings_text(const Settings &settings) {
  std::string text;
  for (const auto &[key, value] : settings)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  return text;
}

Verdict worst_of(const std::vector<SweepPoint> &points) {
  Verdict worst = Verdict::Pass;
  for (const SweepPoint &point : points) {
    const Verdict verdict = point.failure.empty() ? point.result.verdict : Verdict::Void;
    worst = std::max(worst, verdict);
  }
  return worst;
}

const ExperimentQueue *longest(const ExperimentMeasurement &m) {
  const auto found = std::max_element(m.queues.begin(), m.queues.end(),
                                      [](const ExperimentQueue &a, const ExperimentQueue &b) {
                                        return a.backlog_bytes.mean() < b.backlog_bytes.mean();
                                      });
  return found == m.queues.end() ? nullptr : &*found;
}

SweepNumbers numbers_of(const ExperimentMeasurement &m) {
  SweepNumbers n{.jain = m.jain, .queue = {}, .wall_s = m.wall_s};
  for (const ExperimentFlow &flow : m.flows) {
    n.least_rate =
        &flow == &m.flows.front() ? flow.rate_bps : std::min(n.least_rate, flow.rate_bps);
    n.most_rate = std::max(n.most_rate, flow.rate_bps);
    n.rate += flow.rate_bps;
    n.cnps += flow.cnps;
    n.drops += flow.drops;
  }
  if (const ExperimentQueue *queue = longest(m)) {
    n.queue = queue->name;
    n.queue_mean = queue->backlog_bytes.mean();
    n.queue_p99 = queue->backlog_bytes.quantile(0.99);
    n.queue_max = queue->backlog_bytes.max();
    n.utilisation = queue->utilisation;
    n.marked = queue->marked;
  }
  return n;
}

// The first expectation that does not hold, or why the point is void.
std::string reason(const SweepPoint &point) {
  if (!point.failure.empty())
    return point.failure;
  if (!point.result.measured.why_void.empty())
    return point.result.measured.why_void.front();
  for (const ExperimentCheck &check : point.result.checks)
    if (check.outcome == ExperimentCheck::Outcome::Fails)
      return fmt::format("{}: {:.6g}", check.text, check.value.value_or(0));
  return "";
}

std::vector<Value> row_of(const SweepPoint &point) {
  const SweepNumbers &n = point.numbers;
  const Verdict verdict = point.failure.empty() ? point.result.verdict : Verdict::Void;
  return {point.number,
          settings_text(point.settings),
          std::string(verdict_name(verdict)),
          n.rate,
          n.least_rate,
          n.most_rate,
          n.jain,
          n.queue,
          n.queue_mean,
          n.queue_p99,
          n.queue_max,
          n.utilisation,
          n.marked,
          n.cnps,
          n.drops,
          n.wall_s,
          reason(point),
          point.directory,
          point.run,
          point.seed,
          point.host};
}

using nlohmann::json;

template <typename T> json maybe(const std::optional<T> &value) {
  return value ? json(*value) : json();
}

template <typename T> std::optional<T> optional(const json &value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

json packed(const ExperimentCheck &c) {
  return {c.text, static_cast<int>(c.outcome), maybe(c.value), maybe(c.bound), c.row, maybe(c.t_ns),
          c.why};
}

ExperimentCheck unpacked(const json &c) {
  return {c[0],
          static_cast<ExperimentCheck::Outcome>(c[1].get<int>()),
          optional<double>(c[2]),
          optional<double>(c[3]),
          c[4],
          optional<uint64_t>(c[5]),
          c[6]};
}

} // namespace

std::string pack_point(const ExperimentResult &result) {
  const SweepNumbers n = numbers_of(result.measured);
  json checks = json::array();
  for (const ExperimentCheck &check : result.checks)
    checks.push_back(packed(check));
  const json all = {result.name,
                    static_cast<int>(result.verdict),
                    result.measured.why_void,
                    checks,
                    result.seed,
                    {n.rate, n.least_rate, n.most_rate, n.jain, n.queue, n.queue_mean,
                     n.utilisation, n.wall_s, n.queue_p99, n.queue_max, n.marked, n.cnps, n.drops}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool unpack_point(const std::string &text, SweepPoint &point) {
  try {
    const json all = json::parse(text);
    point.result.name = all.at(0);
    point.result.verdict = static_cast<Verdict>(all.at(1).get<int>());
    point.result.measured.why_void = all.at(2).get<std::vector<std::string>>();
    for (const json &check : all.at(3))
      point.result.checks.push_back(unpacked(check));
    point.seed = all.at(4);
    const json &n = all.at(5);
    point.numbers = {n.at(0), n.at(1), n.at(2), n.at(3),  n.at(4),  n.at(5), n.at(6),
                     n.at(7), n.at(8), n.at(9), n.at(10), n.at(11), n.at(12)};
    point.result.measured.wall_s = point.numbers.wall_s;
    return true;
  } catch (const json::exception &) {
    return false;
  }
}

std::string stored_point(const SweepPoint &point, const std::string &packed, uint64_t of) {
  const json all = {{"schema", 1},     {"run", point.run},   {"number", point.number},
                    {"of", of},        {"host", point.host}, {"settings", point.settings},
                    {"result", packed}};
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<StoredPoint> read_stored_point(const std::string &text) {
  try {
    const json all = json::parse(text);
    StoredPoint stored;
    SweepPoint &point = stored.point;
    point.run = all.at("run");
    point.number = all.at("number");
    stored.of = all.at("of");
    point.host = all.at("host");
    point.settings = all.at("settings").get<Settings>();
    if (point.number && point.number <= stored.of && unpack_point(all.at("result"), point))
      return stored;
  } catch (const json::exception &) {
  }
  return Error{"it is no point of a sweep, or another version's"};
}

Document sweep_report(const std::string &name, const std::vector<SweepPoint> &points,
                      const std::vector<uint64_t> &missing) {
  using enum Format;
  const Verdict verdict = missing.empty() ? worst_of(points) : Verdict::Void;
  std::vector<std::vector<Value>> rows;
  for (const SweepPoint &point : points)
    rows.push_back(row_of(point));
  Document document;
  document.title = fmt::format("{}: {} points: {}", name, points.size(), verdict_name(verdict));
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  document.sections.push_back({"experiment", "", Value{name}, Where::Json});
  document.sections.push_back(
      {"verdict", "", Value{std::string(verdict_name(verdict))}, Where::Json});
  StringList absent;
  for (const uint64_t number : missing)
    absent.push_back(std::to_string(number));
  document.sections.push_back(
      {"missing", "missing points", Value{absent}, Where::Both, Hide::Zero, Tone::Alarm});
  document.sections.push_back(
      {"points", "",
       make_table({{"number", "", Number},
                   {"point", "POINT"},
                   {"verdict", "VERDICT"},
                   {"rate_bps", "BIT/S\nall", Scaled},
                   {"least_rate_bps", "\nleast", Scaled},
                   {"most_rate_bps", "\nmost", Scaled},
                   {"jain", "JAIN", Number},
                   {"queue", "LONGEST\nQUEUE"},
                   {"queue_mean_bytes", "BYTES\nmean", Rate},
                   {"queue_p99_bytes", "\np99", Count},
                   {"queue_max_bytes", "\nmax", Count},
                   {"utilisation", "UTIL.", Number},
                   {"marked", "MARKED", Count, Hide::Zero},
                   {"cnps", "CNPS", Count, Hide::Zero},
                   {"drops", "DROPS", Count, Hide::Zero, Tone::Alarm},
                   {"wall_s", "REAL s", Number},
                   {"why", "WHY", Text, Hide::Zero},
                   {"directory", "", Text, Hide::Never, Tone::Plain, Where::Json},
                   {"run", "", Text, Hide::Never, Tone::Plain, Where::Json},
                   {"seed", "", Number, Hide::Never, Tone::Plain, Where::Json},
                   {"host", "", Text, Hide::Never, Tone::Plain, Where::Json}},
                  std::move(rows))});
  return document;
}

} // namespace xr::report
