// SPDX-License-Identifier: Apache-2.0
// sweep.csv: settings and numbers of each point.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "parse/quantity.h"
#include "report/cells.h"
#include "sweep/added_histogram.h"
#include "sweep/point.h"

namespace xr::sweep {

using namespace report;

namespace {

constexpr const char *kNumber = "number", *kSeedColumn = "seed";
// A key with the name of another column.
constexpr const char *kSetting = "setting.";

constexpr const char *kMeasures[] = {"rate_bps",
                                     "least_rate_bps",
                                     "most_rate_bps",
                                     "jain",
                                     "fcts",
                                     "fct_mean_ns",
                                     "fct_p50_ns",
                                     "fct_p99_ns",
                                     "fct_p999_ns",
                                     "fct_max_ns",
                                     "queue",
                                     "queue_mean_bytes",
                                     "queue_p50_bytes",
                                     "queue_p99_bytes",
                                     "queue_p999_bytes",
                                     "queue_max_bytes",
                                     "utilisation",
                                     "marked",
                                     "cnps",
                                     "drops",
                                     "retransmitted",
                                     "wall_s"};
constexpr const char *kVerdict = "verdict", *kFailure = "failure";

std::vector<Value> measures_of(const SweepNumbers &n) {
  AddedHistogram fct_ns, backlog;
  fct_ns.add(n.fct_ns);
  backlog.add(n.backlog);
  std::vector<Value> values = {n.rate, n.least_rate, n.most_rate, maybe(n.jain), fct_ns.count()};
  fct_ns.append_to(values);
  values.insert(values.end(),
                {n.queue, n.queue_mean, backlog.quantile(0.5), n.queue_p99, backlog.quantile(0.999),
                 n.queue_max, n.utilisation, n.marked, n.cnps, n.drops, n.retransmitted, n.wall_s});
  return values;
}

const char *suffix_of(parse::UnitKind kind) {
  constexpr const char *kSuffixes[] = {"", "_ns", "_bytes", "_bps", "_pps", "_share"};
  return kSuffixes[static_cast<size_t>(kind)];
}

Result<parse::Quantity> quantity_of(const Value &setting) {
  const auto *text = std::get_if<std::string>(&setting);
  return parse::quantity(text ? *text : "");
}

// The unit that all values of the key have; None if they have none or several.
parse::UnitKind unit_of(const std::vector<SweepPoint> &points, const std::string &key) {
  std::optional<parse::UnitKind> unit;
  for (const SweepPoint &point : points) {
    auto quantity = quantity_of(setting_of(point, key));
    if (!quantity || (unit && *unit != quantity->kind))
      return parse::UnitKind::None;
    unit = quantity->kind;
  }
  return unit.value_or(parse::UnitKind::None);
}

// A key as it was set, or as a number.
struct KeyColumn {
  std::string name, key;
  bool number = false;

  Value cell(const SweepPoint &point) const {
    Value setting = setting_of(point, key);
    if (!number)
      return setting;
    auto quantity = quantity_of(setting);
    return quantity ? Value{quantity->value} : Value{};
  }
};

// The name of a key's column.
std::string column_name(const std::string &name) {
  const bool other = name == kNumber || name == kSeedColumn || name == kVerdict ||
                     name == kFailure || std::ranges::find(kMeasures, name) != std::end(kMeasures);
  return other ? kSetting + name : name;
}

std::vector<KeyColumn> key_columns(const std::vector<SweepPoint> &points) {
  std::vector<KeyColumn> columns;
  for (const std::string &key : setting_keys(points)) {
    if (key == kSeedColumn)
      continue;
    columns.push_back({column_name(key), key});
    if (const auto unit = unit_of(points, key); unit != parse::UnitKind::None)
      columns.push_back({column_name(key + suffix_of(unit)), key, true});
  }
  return columns;
}

Value seed_of(const SweepPoint &point) {
  Value setting = setting_of(point, kSeedColumn);
  if (std::holds_alternative<std::string>(setting))
    return setting;
  return point.failure.empty() ? Value{point.seed} : Value{};
}

std::vector<Value> table_row(const SweepPoint &point, const std::vector<KeyColumn> &keys) {
  std::vector<Value> row = {point.number};
  for (const KeyColumn &key : keys)
    row.push_back(key.cell(point));
  row.push_back(seed_of(point));
  std::vector<Value> measures(std::size(kMeasures));
  if (is_measured(point))
    measures = measures_of(point.numbers);
  row.insert(row.end(), measures.begin(), measures.end());
  row.emplace_back(std::string(verdict_name(verdict_of(point))));
  row.emplace_back(is_measured(point) ? Value{} : Value{reason(point)});
  return row;
}

} // namespace

Table sweep_table(const std::vector<SweepPoint> &points) {
  const std::vector<KeyColumn> keys = key_columns(points);
  std::vector<Column> columns = {{kNumber, ""}};
  for (const KeyColumn &key : keys)
    columns.push_back({key.name, ""});
  columns.push_back({kSeedColumn, ""});
  for (const char *measure : kMeasures)
    columns.push_back({measure, ""});
  columns.push_back({kVerdict, ""});
  columns.push_back({kFailure, ""});
  std::vector<std::vector<Value>> rows;
  rows.reserve(points.size());
  for (const SweepPoint &point : points)
    rows.push_back(table_row(point, keys));
  return make_table(std::move(columns), std::move(rows));
}

} // namespace xr::sweep
