// SPDX-License-Identifier: Apache-2.0
// The points of a sweep side by side: the busiest queue, the flows' rates, marks and losses.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/counted.h"
#include "report/cells.h"
#include "report/phrases.h"
#include "sweep/point.h"

namespace xr::sweep {

using namespace report;

namespace {

Verdict worst_of(const std::vector<SweepPoint> &points) {
  Verdict worst = Verdict::Pass;
  for (const SweepPoint &point : points)
    worst = std::max(worst, verdict_of(point));
  return worst;
}

// "6 points", or "2 points, 3 seeds each".
std::string count_text(const std::vector<SweepPoint> &points) {
  std::map<std::string, size_t> seeds; // by the other settings
  for (const SweepPoint &point : points)
    seeds[settings_text(point.settings, "seed")]++;
  const size_t each = seeds.empty() ? 0 : seeds.begin()->second;
  const auto as_many = [each](const auto &entry) { return entry.second == each; };
  if (each < 2 || !std::ranges::all_of(seeds, as_many))
    return counted(points.size(), "point");
  return fmt::format("{}, {} seeds each", counted(seeds.size(), "point"), each);
}

std::vector<Value> report_row(const SweepPoint &point) {
  const SweepNumbers &n = point.numbers;
  return {point.number,
          settings_text(point.settings, {}),
          std::string(verdict_name(verdict_of(point))),
          n.rate,
          n.least_rate,
          n.most_rate,
          maybe(n.jain),
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

Column json_only(const std::string &key) {
  return {key, "", Format::Text, Hide::Never, Tone::Plain, Where::Json};
}

Table points_table(const std::vector<SweepPoint> &points) {
  using enum Format;
  const std::vector<std::string> keys = setting_keys(points);
  std::vector<std::vector<Value>> rows;
  rows.reserve(points.size());
  for (const SweepPoint &point : points) {
    auto &row = rows.emplace_back(report_row(point));
    for (const std::string &key : keys)
      row.push_back(setting_of(point, key));
  }
  std::vector<Column> columns = {{"number", "", Number},
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
                                 json_only("directory"),
                                 json_only("run"),
                                 json_only("seed"),
                                 json_only("host")};
  for (const std::string &key : keys)
    columns.push_back(json_only("settings." + key));
  return make_table(std::move(columns), std::move(rows));
}

} // namespace

bool is_measured(const SweepPoint &point) {
  return point.failure.empty() && point.result.verdict != Verdict::Void;
}

Verdict verdict_of(const SweepPoint &point) {
  return point.failure.empty() ? point.result.verdict : Verdict::Void;
}

std::string reason(const SweepPoint &point) {
  if (!point.failure.empty())
    return point.failure;
  if (!point.result.measured.why_void.empty())
    return point.result.measured.why_void.front();
  for (const ExperimentCheck &check : point.result.checks)
    if (check.outcome == ExperimentCheck::Outcome::Fails)
      return reason_of(check);
  return "";
}

std::string reason_of(const ExperimentCheck &check) {
  return check.value_text.empty()
             ? fmt::format("{}: {}", check.text,
                           report::check_number(check.value.value_or(0), check.unit))
             : fmt::format("{}: {}", check.text, check.value_text);
}

Value setting_of(const SweepPoint &point, const std::string &key) {
  const auto found = std::ranges::find(point.settings, key, &SweepPoint::Setting::first);
  return found == point.settings.end() ? Value{} : Value{found->second};
}

std::vector<std::string> setting_keys(const std::vector<SweepPoint> &points) {
  std::vector<std::string> keys;
  for (const SweepPoint &point : points)
    for (const SweepPoint::Setting &setting : point.settings)
      if (std::ranges::find(keys, setting.first) == keys.end())
        keys.push_back(setting.first);
  return keys;
}

Document sweep_report(const std::string &name, const std::vector<SweepPoint> &points,
                      const std::vector<uint64_t> &missing) {
  const Verdict verdict = missing.empty() ? worst_of(points) : Verdict::Void;
  Document document;
  document.title = fmt::format("{}: {}: {}", name, count_text(points), verdict_name(verdict));
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  document.sections.push_back({"experiment", "", Value{name}, Where::Json});
  document.sections.push_back(
      {"verdict", "", Value{std::string(verdict_name(verdict))}, Where::Json});
  StringList absent;
  for (const uint64_t number : missing)
    absent.push_back(std::to_string(number));
  document.sections.push_back(
      {"missing", "missing points", Value{absent}, Where::Both, Hide::Zero, Tone::Alarm});
  document.sections.push_back({"points", "", points_table(points)});
  document.sections.push_back({"seeds", "ALL SEEDS", seeds_table(points), Where::Both, Hide::Zero});
  return document;
}

} // namespace xr::sweep
