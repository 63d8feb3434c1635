// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/counted.h"
#include "report/cells.h"
#include "sweep/stored_run.h"

namespace xr::sweep {

using namespace report;

namespace {

using Kind = ExperimentSample::Kind;
using Rows = std::vector<std::vector<Value>>;

// Flows that text shows one by one; of more it shows the mean of each column.
constexpr size_t kMostFlows = 8;

using Key = std::pair<Kind, std::string>;

std::map<Key, const StoredRow *> by_name(const StoredRun &run) {
  std::map<Key, const StoredRow *> rows;
  for (const StoredRow &row : run.rows)
    rows.emplace(Key{row.kind, row.name}, &row);
  return rows;
}

// Means over the flows, by column in the order of their first.
void join_flows(const std::vector<RunDifference> &all, std::vector<RunDifference> &summary) {
  struct Sum {
    RunDifference difference;
    size_t flows = 0;
  };
  std::vector<Sum> sums;
  for (const RunDifference &run_difference : all) {
    if (run_difference.kind != Kind::Flow)
      continue;
    auto sum = std::find_if(sums.begin(), sums.end(), [&](const Sum &candidate) {
      return candidate.difference.column == run_difference.column;
    });
    if (sum == sums.end())
      sum = sums.insert(sums.end(),
                        Sum{.difference = {Kind::Flow, "", run_difference.column,
                                           std::vector<double>(run_difference.values.size())}});
    for (size_t run = 0; run < run_difference.values.size(); run++)
      sum->difference.values[run] += run_difference.values[run];
    sum->flows++;
  }
  for (Sum &sum : sums) {
    for (double &value : sum.difference.values)
      value /= static_cast<double>(sum.flows);
    sum.difference.name = "mean of " + counted(sum.flows, "flow");
    summary.push_back(std::move(sum.difference));
  }
}

std::string number_text(double value) {
  return std::abs(value) < 1e15 && value == std::floor(value) ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.6g}", value);
}

std::string percent_text(const RunDifference &run_difference, size_t run) {
  const auto relative = run_difference.relative(run);
  return relative ? fmt::format("{:+.1f} %", *relative * 100) : "";
}

Value relative_value(const RunDifference &run_difference, size_t run) {
  const auto relative = run_difference.relative(run);
  return maybe(relative);
}

std::vector<Value> names_of(const RunDifference &run_difference) {
  return {std::string(sample_kind_name(run_difference.kind)), run_difference.name,
          run_difference.column};
}

std::vector<Column> name_columns() {
  return {{"kind", "", Format::Text, Hide::Never, Tone::Plain, Where::Json},
          {"name", "FLOW OR QUEUE"},
          {"column", "COLUMN"}};
}

// A column for each run, and after each but the first its difference.
Table text_values(const std::vector<RunDifference> &differences,
                  const std::vector<std::string> &labels) {
  std::vector<Column> columns = name_columns();
  for (size_t run = 0; run < labels.size(); run++) {
    columns.push_back({fmt::format("run_{}", run), labels[run], Format::Number});
    if (run)
      columns.push_back({fmt::format("relative_{}", run), "DIFFERENCE", Format::Number});
  }
  Rows rows;
  for (const RunDifference &run_difference : differences) {
    if (std::ranges::all_of(run_difference.values, [](double value) { return value == 0; }))
      continue;
    std::vector<Value> row = names_of(run_difference);
    for (size_t run = 0; run < labels.size(); run++) {
      row.emplace_back(number_text(run_difference.values[run]));
      if (run)
        row.emplace_back(percent_text(run_difference, run));
    }
    rows.push_back(std::move(row));
  }
  return make_table(std::move(columns), std::move(rows));
}

// The first two runs.
Table json_values(const std::vector<RunDifference> &differences) {
  std::vector<Column> columns = name_columns();
  columns.insert(columns.end(), {{"first", ""}, {"second", ""}, {"relative", ""}});
  Rows rows;
  for (const RunDifference &run_difference : differences) {
    std::vector<Value> row = names_of(run_difference);
    row.insert(row.end(), {run_difference.values[0], run_difference.values[1],
                           relative_value(run_difference, 1)});
    rows.push_back(std::move(row));
  }
  return make_table(std::move(columns), std::move(rows));
}

// A row a number and run.
Table values_by_run(const std::vector<RunDifference> &differences,
                    const std::vector<std::string> &labels) {
  std::vector<Column> columns = name_columns();
  columns.insert(columns.end(), {{"run", ""}, {"value", ""}, {"relative", ""}});
  Rows rows;
  for (const RunDifference &run_difference : differences)
    for (size_t run = 0; run < labels.size(); run++) {
      std::vector<Value> row = names_of(run_difference);
      row.insert(row.end(),
                 {labels[run], run_difference.values[run], relative_value(run_difference, run)});
      rows.push_back(std::move(row));
    }
  return make_table(std::move(columns), std::move(rows));
}

Table runs_of(const std::vector<std::string> &labels, const std::vector<StoredRun> &runs) {
  Rows rows;
  for (size_t run = 0; run < runs.size(); run++) {
    const ExperimentResult &r = runs[run].result;
    rows.push_back({labels[run], r.name, r.place, r.scale == 1 ? Value{} : Value{r.scale}, r.seed,
                    std::string(verdict_name(r.verdict)), StringList(r.measured.why_void),
                    r.version});
  }
  return make_table({{"run", "RUN"},
                     {"experiment", "EXPERIMENT"},
                     {"place", "PLACE"},
                     {"scale", "SCALE", Format::Number, Hide::Zero},
                     {"seed", "SEED", Format::Number},
                     {"verdict", "VERDICT"},
                     {"why_void", "VOID BECAUSE", Format::Text, Hide::Zero, Tone::Alarm},
                     {"version", "VERSION"}},
                    std::move(rows));
}

const double *number_of(const StoredRow &row, const std::string &column) {
  const auto found = std::ranges::find_if(
      row.numbers, [&column](const auto &number) { return number.first == column; });
  return found == row.numbers.end() ? nullptr : &found->second;
}

} // namespace

std::optional<double> RunDifference::relative(size_t run) const {
  const double first = values.front();
  return first == 0 ? std::nullopt : std::optional((values[run] - first) / first);
}

RunComparison compare_runs(const std::vector<StoredRun> &runs) {
  RunComparison comparison;
  std::vector<std::map<Key, const StoredRow *>> named;
  named.reserve(runs.size());
  for (const StoredRun &run : runs)
    named.push_back(by_name(run));
  size_t flows = 0;
  std::set<Key> seen;
  for (const StoredRun &run : runs)
    for (const StoredRow &row : run.rows) {
      const Key key{row.kind, row.name};
      if (!seen.insert(key).second)
        continue;
      std::vector<const StoredRow *> rows;
      for (const auto &names : named)
        if (const auto found = names.find(key); found != names.end())
          rows.push_back(found->second);
      if (rows.size() < runs.size()) {
        comparison.only_in_one.push_back(row.name);
        continue;
      }
      flows += row.kind == Kind::Flow;
      for (const auto &[column, first] : row.numbers) {
        RunDifference number{row.kind, row.name, column, {}};
        for (const StoredRow *one : rows)
          if (const double *value = number_of(*one, column))
            number.values.push_back(*value);
        if (number.values.size() == runs.size())
          comparison.all.push_back(std::move(number));
      }
    }
  for (const RunDifference &run_difference : comparison.all)
    if (run_difference.kind == Kind::Total ||
        (run_difference.kind == Kind::Flow && flows <= kMostFlows))
      comparison.summary.push_back(run_difference);
  if (flows > kMostFlows)
    join_flows(comparison.all, comparison.summary);
  for (const RunDifference &difference : comparison.all)
    if (difference.kind == Kind::Queue)
      comparison.summary.push_back(difference);
  return comparison;
}

Document comparison_report(const std::vector<std::string> &labels,
                           const std::vector<StoredRun> &runs, const RunComparison &comparison) {
  Document document;
  auto &s = document.sections;
  s.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  s.push_back({"runs", "", runs_of(labels, runs)});
  s.push_back({"values", "", json_values(comparison.all), Where::Json});
  if (runs.size() > 2)
    s.push_back({"values_by_run", "", values_by_run(comparison.all, labels), Where::Json});
  s.push_back({"values_text", "", text_values(comparison.summary, labels), Where::Text});
  s.push_back({"only_in_one", runs.size() > 2 ? "not in all runs" : "in one of the runs only",
               Value{StringList(comparison.only_in_one)}, Where::Both, Hide::Zero, Tone::Alarm});
  return document;
}

} // namespace xr::sweep
