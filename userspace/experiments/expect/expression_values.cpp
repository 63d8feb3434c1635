// SPDX-License-Identifier: Apache-2.0
#include "expect/expression_values.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fnmatch.h>

#include "base/fairness.h"
#include "expect/answer_columns.h"

namespace xr::experiment {

namespace {

using Kind = Node::Kind;
using Samples = SampleStore::Samples;

double quantile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(fraction * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

// Unset: the fairness of nothing.
std::optional<double> reduced(const Stat &stat, const std::vector<double> &values) {
  double sum = 0;
  for (const double value : values)
    sum += value;
  switch (stat.kind) {
  case Stat::Kind::Min:
    return *std::min_element(values.begin(), values.end());
  case Stat::Kind::Max:
    return *std::max_element(values.begin(), values.end());
  case Stat::Kind::Sum:
    return sum;
  case Stat::Kind::Jain:
    return jain_index(values);
  case Stat::Kind::Quantile:
    return quantile(values, stat.quantile);
  default:
    return sum / static_cast<double>(values.size());
  }
}

double reduced(const Stat &stat, const Histogram &values) {
  switch (stat.kind) {
  case Stat::Kind::Min:
    return static_cast<double>(values.min());
  case Stat::Kind::Max:
    return static_cast<double>(values.max());
  case Stat::Kind::Quantile:
    return static_cast<double>(values.quantile(stat.quantile));
  default:
    return values.mean();
  }
}

std::optional<double> over(const Stat &stat, const Item &item) {
  std::vector<double> values;
  for (const auto &[t, value] : item.samples)
    values.push_back(value);
  return reduced(stat, values);
}

bool spread(const Node &node) {
  if (node.kind != Kind::Column)
    return false;
  const ColumnRow &column = *find_column(node.row_kind, node.name).column;
  return column.distribution ||
         ((node.after_ns || node.before_ns) && column.kind != ColumnKind::Counter);
}

// Rows without a value are left out: flows that did not end have no completion time.
Item over_rows(const Stat &stat, const std::vector<Item> &all) {
  std::vector<double> values;
  const Item *least = nullptr, *most = nullptr;
  for (const Item &item : all) {
    if (!item.number)
      continue;
    values.push_back(*item.number);
    if (!least || *item.number < *least->number)
      least = &item;
    if (!most || *item.number > *most->number)
      most = &item;
  }
  if (all.empty() && stat.kind == Stat::Kind::Sum)
    return {.number = 0};
  if (values.empty() || !least || !most)
    return {.why = all.empty() ? "there are no rows" : all.front().why};
  // The row to look at: the one with the extreme value, the smallest for a fairness index.
  Item item = stat.kind == Stat::Kind::Min || stat.kind == Stat::Kind::Jain ? *least : *most;
  item.number = reduced(stat, values);
  if (!item.number)
    item.why = "all values are 0: nothing was shared";
  return item;
}

} // namespace

std::string ExpressionValues::label_of(RowKind kind, size_t row) const {
  return is_answer(kind) ? answer_label(kind, *evidence_.answers, row) : subject_.names(kind)[row];
}

Result<std::vector<uint32_t>> ExpressionValues::rows_of(const Node &node) const {
  std::vector<uint32_t> rows;
  if (!is_answer(node.row_kind)) {
    for (const size_t row : select_rows(subject_, node.row_kind, node.pattern))
      rows.push_back(static_cast<uint32_t>(row));
    return rows;
  }
  if (!evidence_.answers)
    return Error{"there are no answers from the captures"};
  const RunAnswers &answers = *evidence_.answers;
  if (const std::string &loss = answer_loss(node.row_kind, answers); !loss.empty())
    return Error{fmt::format("{} are incomplete: {}", row_words(node.row_kind)->many, loss)};
  for (uint32_t row = 0; row < answer_rows(node.row_kind, answers); row++) {
    if (!node.pattern.empty() &&
        fnmatch(node.pattern.c_str(), answer_name(node.row_kind, answers, row).c_str(), 0) != 0)
      continue;
    if (node.after_ns || node.before_ns) {
      const auto at = answer_time(node.row_kind, answers, row);
      if (!at || *at <= node.after_ns.value_or(0) || *at > node.before_ns.value_or(UINT64_MAX))
        continue;
    }
    rows.push_back(row);
  }
  return rows;
}

Item ExpressionValues::text(const Node &node) {
  return node.kind == Kind::Text ? Item{.text = node.name} : items(node).front();
}

Item ExpressionValues::number(const Node &node) {
  Item item = items(node).front();
  if (!item.number && !item.samples.empty()) // implied by `after`
    item.number = over(Stat{}, item);
  return item;
}

std::vector<Item> ExpressionValues::items(const Node &node) {
  switch (node.kind) {
  case Kind::Number:
    return {{.number = node.number}};
  case Kind::Column:
    return columns(node);
  case Kind::Reduce:
    return reduce(node);
  case Kind::Negative: {
    Item item = number(*node.children[0]);
    if (item.number)
      item.number = -*item.number;
    return {item};
  }
  default:
    return {arithmetic(node)};
  }
}

Item ExpressionValues::arithmetic(const Node &node) {
  const Item a = number(*node.children[0]), b = number(*node.children[1]);
  Item item = a.has_row ? a : b;
  item.samples.clear();
  if (!a.number || !b.number) {
    item.number.reset();
    item.why = a.number ? b.why : a.why;
    return item;
  }
  switch (node.kind) {
  case Kind::Add:
    item.number = *a.number + *b.number;
    break;
  case Kind::Subtract:
    item.number = *a.number - *b.number;
    break;
  case Kind::Multiply:
    item.number = *a.number * *b.number;
    break;
  default:
    item.number = *a.number / *b.number;
  }
  if (!std::isfinite(*item.number)) {
    item.number.reset();
    item.why = fmt::format("{}: division by zero", node.text);
  }
  return item;
}

std::vector<Item> ExpressionValues::columns(const Node &node) const {
  std::vector<uint32_t> rows = {0};
  if (node.rows == Node::Rows::Own) {
    rows = {own};
  } else if (node.rows != Node::Rows::Single) {
    auto named = rows_of(node);
    if (!named)
      return {{.why = named.error().message, .needed = true}};
    rows = std::move(named).get();
  }
  std::vector<Item> all;
  all.reserve(rows.size());
  for (const uint32_t row : rows)
    all.push_back(column(node, row));
  return all;
}

Cell ExpressionValues::cell_of(const ColumnRow &column, RowKind kind, uint32_t row) const {
  switch (kind) {
  case RowKind::Flow:
    return row < evidence_.measured.flows.size() ? column.flow(evidence_.measured.flows[row])
                                                 : Cell{};
  case RowKind::Queue:
    return row < evidence_.measured.queues.size() ? column.queue(evidence_.measured.queues[row])
                                                  : Cell{};
  case RowKind::Rule:
    return row < evidence_.measured.rules.size() ? column.rule(evidence_.measured.rules[row])
                                                 : Cell{};
  case RowKind::Job:
    return row < evidence_.measured.jobs.size() ? column.job(evidence_.measured.jobs[row]) : Cell{};
  case RowKind::Rank:
    for (const ExperimentJob &job : evidence_.measured.jobs) {
      if (row < job.ranks.size())
        return column.rank(job.ranks[row]);
      row -= static_cast<uint32_t>(job.ranks.size());
    }
    return {};
  case RowKind::Total:
  case RowKind::Whole:
    return column.total(evidence_.measured);
  case RowKind::Prediction:
    return column.prediction(evidence_.prediction);
  default:
    return answer_cell(column, kind, *evidence_.answers, row);
  }
}

Item ExpressionValues::column(const Node &node, uint32_t row) const {
  if (node.name.empty())
    return {.number = 1, .row_kind = node.row_kind, .row = row, .has_row = true};
  const FoundColumn found = find_column(node.row_kind, node.name);
  const ColumnRow &column = *found.column;
  Item item{.column = &column, .row_kind = node.row_kind, .row = row};
  item.has_row = row_words(node.row_kind) != nullptr;
  const std::string of = item.has_row ? label_of(node.row_kind, row) : "the run";
  if ((node.after_ns || node.before_ns) && !is_answer(node.row_kind)) {
    window(node, found, item);
    if (item.samples.empty() && !item.number)
      item.why = fmt::format("{}: {} has no samples in that time", node.text, of);
    return item;
  }
  const Cell cell = cell_of(column, node.row_kind, row);
  if (cell.number)
    item.number = *cell.number * found.scale;
  if (cell.distribution && cell.distribution->count())
    item.distribution = cell.distribution;
  item.text = cell.text;
  item.needed = cell.needed;
  if (!cell.number && !cell.text && !item.distribution)
    item.why = fmt::format("{} has no {}", of, column.name);
  const uint64_t covered =
      column.whole_run ? subject_.duration_ns : subject_.duration_ns - subject_.measure_from_ns;
  item.seconds = static_cast<double>(covered) / 1e9;
  return item;
}

void ExpressionValues::window(const Node &node, const FoundColumn &found, Item &item) const {
  const Samples *series = evidence_.samples.find(item.row_kind, item.row, found.column->name);
  Samples of_steps;
  if (found.column->kind == ColumnKind::Stepwise && item.row < evidence_.measured.jobs.size()) {
    for (const ExperimentJob::Step &step : evidence_.measured.jobs[item.row].steps)
      if (step.end_ns)
        of_steps.emplace_back(*step.end_ns, found.column->step(step));
    series = &of_steps;
  }
  if (!series)
    return;
  const uint64_t from = node.after_ns.value_or(0);
  const uint64_t to = node.before_ns.value_or(UINT64_MAX);
  double sum = 0;
  for (const auto &[t, value] : *series)
    if (t > from && t <= to) { // a sample is of the time before it
      item.samples.emplace_back(t, value * found.scale);
      sum += value * found.scale;
    }
  if (found.column->kind != ColumnKind::Counter || item.samples.empty())
    return;
  item.number = sum;
  item.seconds = static_cast<double>(item.samples.back().first - from) / 1e9;
  item.samples.clear();
}

std::vector<Item> ExpressionValues::where(std::vector<Item> all, const Node &condition) {
  std::vector<Item> kept;
  for (Item &item : all) {
    if (!item.has_row) // why there are no rows
      return all;
    const uint32_t outer = std::exchange(own, item.row);
    const ExperimentCheck check = decide_(condition);
    own = outer;
    if (check.outcome == ExperimentCheck::Outcome::Unmeasured && !check.left_out)
      return {{.why = check.why, .needed = true}};
    if (check.outcome == ExperimentCheck::Outcome::Holds)
      kept.push_back(std::move(item));
  }
  return kept;
}

std::vector<Item> ExpressionValues::reduce(const Node &node) {
  std::vector<Item> selected = items(*node.children[0]);
  if (node.children.size() > 1)
    selected = where(std::move(selected), *node.children[1]);
  for (const Item &item : selected)
    if (item.needed && !item.number && !item.text)
      return {item};
  if (node.stat.kind == Stat::Kind::Rate) {
    for (Item &item : selected)
      if (item.number)
        item.number = item.seconds > 0 ? *item.number / item.seconds : 0;
    return selected;
  }
  if (node.stat.kind == Stat::Kind::Count) {
    Item item{.number = 0};
    for (const Item &entry : selected) {
      if (!entry.number && !entry.text)
        continue;
      ++*item.number;
      if (is_answer(entry.row_kind))
        item.counted.push_back(entry.row);
      item.row_kind = entry.row_kind;
    }
    return {item};
  }
  if (const Node &inner = *node.children[0]; spread(inner)) {
    for (Item &item : selected)
      if (item.distribution)
        item.number = reduced(node.stat, *item.distribution);
      else if (!item.samples.empty())
        item.number = over(node.stat, item);
    return selected;
  }
  return {over_rows(node.stat, selected)};
}

} // namespace xr::experiment
