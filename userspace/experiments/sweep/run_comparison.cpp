// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/counted.h"
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
      sum = sums.insert(sums.end(), Sum{.difference = {Kind::Flow, "", run_difference.column}});
    sum->difference.first += run_difference.first;
    sum->difference.second += run_difference.second;
    sum->flows++;
  }
  for (Sum &sum : sums) {
    sum.difference.first /= static_cast<double>(sum.flows);
    sum.difference.second /= static_cast<double>(sum.flows);
    sum.difference.name = "mean of " + counted(sum.flows, "flow");
    summary.push_back(std::move(sum.difference));
  }
}

std::string number_text(double value) {
  return std::abs(value) < 1e15 && value == std::floor(value) ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.6g}", value);
}

std::string percent_text(const RunDifference &run_difference) {
  const auto relative = run_difference.relative();
  return relative ? fmt::format("{:+.1f} %", *relative * 100) : "";
}

Table values_of(const std::vector<RunDifference> &differences,
                const std::pair<std::string, std::string> &labels, bool text) {
  Rows rows;
  for (const RunDifference &run_difference : differences) {
    if (text && run_difference.first == 0 && run_difference.second == 0)
      continue;
    std::vector<Value> row = {std::string(sample_kind_name(run_difference.kind)),
                              run_difference.name, run_difference.column};
    if (text) {
      row.insert(row.end(), {number_text(run_difference.first), number_text(run_difference.second),
                             percent_text(run_difference)});
    } else {
      const auto relative = run_difference.relative();
      row.insert(row.end(), {run_difference.first, run_difference.second,
                             relative ? Value{*relative} : Value{}});
    }
    rows.push_back(std::move(row));
  }
  return make_table({{"kind", "", Format::Text, Hide::Never, Tone::Plain, Where::Json},
                     {"name", "FLOW OR QUEUE"},
                     {"column", "COLUMN"},
                     {"first", labels.first, Format::Number},
                     {"second", labels.second, Format::Number},
                     {"relative", "DIFFERENCE", Format::Number}},
                    std::move(rows));
}

Table runs_of(const std::pair<std::string, std::string> &labels, const StoredRun &first,
              const StoredRun &second) {
  Rows rows;
  for (const auto &[label, run] :
       {std::pair(labels.first, &first), std::pair(labels.second, &second)}) {
    const ExperimentResult &r = run->result;
    rows.push_back({label, r.name, r.place, r.scale == 1 ? Value{} : Value{r.scale}, r.seed,
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

} // namespace

std::optional<double> RunDifference::relative() const {
  return first == 0 ? std::nullopt : std::optional((second - first) / first);
}

RunComparison compare_runs(const StoredRun &first, const StoredRun &second) {
  RunComparison comparison;
  const auto rows = by_name(second);
  std::set<Key> both;
  size_t flows = 0;
  for (const StoredRow &row : first.rows) {
    const auto other = rows.find(Key{row.kind, row.name});
    if (other == rows.end()) {
      comparison.only_in_one.push_back(row.name);
      continue;
    }
    both.emplace(row.kind, row.name);
    flows += row.kind == Kind::Flow;
    for (const auto &mine : row.numbers) {
      const auto &numbers = other->second->numbers;
      const auto theirs = std::find_if(numbers.begin(), numbers.end(), [&](const auto &number) {
        return number.first == mine.first;
      });
      if (theirs != numbers.end())
        comparison.all.push_back({row.kind, row.name, mine.first, mine.second, theirs->second});
    }
  }
  for (const StoredRow &row : second.rows)
    if (!both.contains(Key{row.kind, row.name}))
      comparison.only_in_one.push_back(row.name);
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

Document comparison_report(const std::pair<std::string, std::string> &labels,
                           const StoredRun &first, const StoredRun &second,
                           const RunComparison &comparison) {
  Document document;
  auto &s = document.sections;
  s.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  s.push_back({"runs", "", runs_of(labels, first, second)});
  s.push_back({"values", "", values_of(comparison.all, labels, false), Where::Json});
  s.push_back({"values_text", "", values_of(comparison.summary, labels, true), Where::Text});
  s.push_back({"only_in_one", "in one of the runs only", Value{StringList(comparison.only_in_one)},
               Where::Both, Hide::Zero, Tone::Alarm});
  return document;
}

} // namespace xr::sweep
