// SPDX-License-Identifier: Apache-2.0
// The points of a sweep side by side: the busiest queue, the flows' rates, marks and losses.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sweep/point.h"

namespace xr::sweep {

using namespace report;

namespace {

Verdict worst_of(const std::vector<SweepPoint> &points) {
  Verdict worst = Verdict::Pass;
  for (const SweepPoint &point : points) {
    const Verdict verdict = point.failure.empty() ? point.result.verdict : Verdict::Void;
    worst = std::max(worst, verdict);
  }
  return worst;
}

// The first expectation that does not hold, or why the point is void.
std::string reason(const SweepPoint &point) {
  if (!point.failure.empty())
    return point.failure;
  if (!point.result.measured.why_void.empty())
    return point.result.measured.why_void.front();
  for (const ExperimentCheck &check : point.result.checks)
    if (check.outcome == ExperimentCheck::Outcome::Fails)
      return check.value_text.empty()
                 ? fmt::format("{}: {:.6g}", check.text, check.value.value_or(0))
                 : fmt::format("{}: {}", check.text, check.value_text);
  return "";
}

// "6 points", or "2 points, 3 seeds each".
std::string count_text(const std::vector<SweepPoint> &points) {
  std::map<std::string, size_t> seeds; // by the other settings
  for (const SweepPoint &point : points)
    seeds[settings_text(point.settings, "seed")]++;
  const size_t each = seeds.empty() ? 0 : seeds.begin()->second;
  const auto as_many = [each](const auto &entry) { return entry.second == each; };
  if (each < 2 || !std::ranges::all_of(seeds, as_many))
    return fmt::format("{} points", points.size());
  return fmt::format("{} point{}, {} seeds each", seeds.size(), seeds.size() == 1 ? "" : "s", each);
}

std::vector<Value> row_of(const SweepPoint &point) {
  const SweepNumbers &n = point.numbers;
  const Verdict verdict = point.failure.empty() ? point.result.verdict : Verdict::Void;
  return {point.number,
          settings_text(point.settings, {}),
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

} // namespace

Document sweep_report(const std::string &name, const std::vector<SweepPoint> &points,
                      const std::vector<uint64_t> &missing) {
  using enum Format;
  const Verdict verdict = missing.empty() ? worst_of(points) : Verdict::Void;
  std::vector<std::vector<Value>> rows;
  rows.reserve(points.size());
  for (const SweepPoint &point : points)
    rows.push_back(row_of(point));
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
  document.sections.push_back({"seeds", "ALL SEEDS", seeds_table(points), Where::Both, Hide::Zero});
  return document;
}

} // namespace xr::sweep
