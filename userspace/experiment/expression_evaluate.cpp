// SPDX-License-Identifier: Apache-2.0
// Evaluates an expectation: whether it holds, and the value, bound, row and time that decided.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/fairness.h"
#include "experiment/expectation.h"
#include "experiment/expression.h"

namespace xr::experiment {

namespace {

using Kind = Node::Kind;
using Outcome = ExperimentCheck::Outcome;
using Samples = SampleStore::Samples;

// A number with where it comes from. Without `number` it is a distribution or samples, or it could
// not be measured: `why`.
struct Item {
  std::optional<double> number = {};
  const Histogram *distribution = nullptr;
  Samples samples = {};
  double seconds = 0; // Counter: the time that the number covers
  std::string why = {};
  const ColumnRow *column = nullptr; // nullptr: computed from several
  RowKind row_kind = RowKind::Total;
  uint32_t row = 0;
  bool has_row = false;
};

double quantile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(fraction * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

double reduced(const Stat &stat, const std::vector<double> &values) {
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

class Evaluator {
public:
  Evaluator(const Subject &subject, const ExperimentMeasurement &measured,
            const ExperimentPrediction &prediction, const SampleStore &samples)
      : subject_(subject), measured_(measured), prediction_(prediction), samples_(samples) {}

  ExperimentCheck decide(const Node &node) {
    switch (node.kind) {
    case Kind::And:
    case Kind::Or:
      return join(node);
    case Kind::Not: {
      ExperimentCheck check = decide(*node.children[0]);
      if (check.outcome != Outcome::Unmeasured)
        check.outcome = check.outcome == Outcome::Holds ? Outcome::Fails : Outcome::Holds;
      return check;
    }
    case Kind::All:
    case Kind::Any:
    case Kind::None:
      return quantified(node);
    default:
      return compare(node);
    }
  }

private:
  // The first part that decides; otherwise one that could not be measured; otherwise the first.
  static ExperimentCheck choose(std::vector<ExperimentCheck> checks, Outcome decisive) {
    for (const Outcome wanted : {decisive, Outcome::Unmeasured})
      for (ExperimentCheck &check : checks)
        if (check.outcome == wanted)
          return std::move(check);
    return std::move(checks.front());
  }

  ExperimentCheck join(const Node &node) {
    std::vector<ExperimentCheck> checks;
    for (const auto &child : node.children)
      checks.push_back(decide(*child));
    return choose(std::move(checks), node.kind == Kind::And ? Outcome::Fails : Outcome::Holds);
  }

  ExperimentCheck quantified(const Node &node) {
    std::vector<ExperimentCheck> checks;
    for (const size_t row : select_rows(subject_, node.row_kind, node.pattern)) {
      const auto outer = own_;
      own_ = static_cast<uint32_t>(row);
      checks.push_back(decide(*node.children[0]));
      own_ = outer;
      if (checks.back().row.empty())
        checks.back().row = name_of(node.row_kind, row);
    }
    ExperimentCheck check =
        choose(std::move(checks), node.kind == Kind::All ? Outcome::Fails : Outcome::Holds);
    if (node.kind == Kind::None && check.outcome != Outcome::Unmeasured)
      check.outcome = check.outcome == Outcome::Holds ? Outcome::Fails : Outcome::Holds;
    return check;
  }

  ExperimentCheck compare(const Node &node) {
    const Item left = number(*node.children[0]);
    std::vector<Item> others;
    for (size_t i = 1; i < node.children.size(); i++)
      others.push_back(number(*node.children[i]));
    ExperimentCheck check;
    for (const Item *item :
         std::initializer_list<const Item *>{&left, &others.front(), &others.back()})
      if (!item->number) {
        check.why = item->why;
        check.value = left.number;
        return check;
      }
    const double value = *left.number;
    double bound = *others.back().number;
    bool holds = false;
    switch (node.kind) {
    case Kind::Less:
      holds = value < bound;
      break;
    case Kind::LessOrEqual:
      holds = value <= bound;
      break;
    case Kind::Greater:
      holds = value > bound;
      break;
    case Kind::GreaterOrEqual:
      holds = value >= bound;
      break;
    case Kind::Equal:
      holds = value == bound;
      break;
    case Kind::NotEqual:
      holds = value != bound;
      break;
    case Kind::Within: {
      const double part = *others.front().number;
      const double room = node.children[1]->percent ? std::abs(bound) * part : part;
      holds = std::abs(value - bound) <= room;
      break;
    }
    default: // Between
      holds = value >= *others.front().number && value <= bound;
      if (value < *others.front().number)
        bound = *others.front().number;
    }
    check.outcome = holds ? Outcome::Holds : Outcome::Fails;
    check.value = value;
    check.bound = bound;
    locate(left.column ? left : others.back(), value, bound, check);
    return check;
  }

  const std::string &name_of(RowKind kind, size_t row) const {
    return kind == RowKind::Flow ? subject_.flows[row] : subject_.queues[row];
  }

  // Where to look: the row, and when it was farthest beyond the bound; of a counter, when it first
  // was.
  void locate(const Item &item, double value, double bound, ExperimentCheck &check) const {
    if (!item.column)
      return;
    if (item.has_row)
      check.row = name_of(item.row_kind, item.row);
    const Samples *series = samples_.find(item.row_kind, item.row, item.column->name);
    if (check.outcome == Outcome::Holds || !series || series->empty())
      return;
    const bool above = value >= bound;
    if (item.column->kind == ColumnKind::Counter) {
      double sum = 0;
      for (const auto &[t, increase] : *series)
        if (sum += increase; sum > (above ? bound : 0)) {
          check.t_ns = t;
          return;
        }
      return;
    }
    const auto less = [](const auto &a, const auto &b) { return a.second < b.second; };
    const Samples &window = item.samples.empty() ? *series : item.samples;
    check.t_ns = above ? std::max_element(window.begin(), window.end(), less)->first
                       : std::min_element(window.begin(), window.end(), less)->first;
  }

  Item number(const Node &node) {
    Item item = items(node).front();
    if (!item.number && !item.samples.empty()) // implied by `after`
      item.number = over(Stat{}, item);
    return item;
  }

  static double over(const Stat &stat, const Item &item) {
    std::vector<double> values;
    for (const auto &[t, value] : item.samples)
      values.push_back(value);
    return reduced(stat, values);
  }

  std::vector<Item> items(const Node &node) {
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

  Item arithmetic(const Node &node) {
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

  std::vector<Item> columns(const Node &node) {
    std::vector<size_t> rows = {0};
    if (node.rows == Node::Rows::Own)
      rows = {own_};
    else if (node.rows != Node::Rows::Single)
      rows = select_rows(subject_, node.row_kind, node.pattern);
    std::vector<Item> all;
    for (const size_t row : rows)
      all.push_back(column(node, static_cast<uint32_t>(row)));
    return all;
  }

  Cell cell_of(const ColumnRow &column, RowKind kind, uint32_t row) const {
    switch (kind) {
    case RowKind::Flow:
      return row < measured_.flows.size() ? column.flow(measured_.flows[row]) : Cell{};
    case RowKind::Queue:
      return row < measured_.queues.size() ? column.queue(measured_.queues[row]) : Cell{};
    case RowKind::Total:
      return column.total(measured_);
    default:
      return column.prediction(prediction_);
    }
  }

  Item column(const Node &node, uint32_t row) const {
    const FoundColumn found = find_column(node.row_kind, node.name);
    const ColumnRow &column = *found.column;
    Item item{.column = &column, .row_kind = node.row_kind, .row = row};
    item.has_row = node.row_kind == RowKind::Flow || node.row_kind == RowKind::Queue;
    const std::string of = item.has_row ? name_of(node.row_kind, row) : "the run";
    if (node.after_ns || node.before_ns) {
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
    if (!cell.number && !item.distribution)
      item.why = fmt::format("{} has no {}", of, column.name);
    const uint64_t covered =
        column.whole_run ? subject_.duration_ns : subject_.duration_ns - subject_.measure_from_ns;
    item.seconds = static_cast<double>(covered) / 1e9;
    return item;
  }

  void window(const Node &node, const FoundColumn &found, Item &item) const {
    const Samples *series = samples_.find(item.row_kind, item.row, found.column->name);
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

  std::vector<Item> reduce(const Node &node) {
    std::vector<Item> all = items(*node.children[0]);
    if (node.stat.kind == Stat::Kind::Rate) {
      for (Item &item : all)
        if (item.number)
          item.number = item.seconds > 0 ? *item.number / item.seconds : 0;
      return all;
    }
    if (node.stat.kind == Stat::Kind::Count) {
      const auto has = [](const Item &item) { return item.number.has_value(); };
      return {{.number = static_cast<double>(std::count_if(all.begin(), all.end(), has))}};
    }
    if (const Node &inner = *node.children[0]; spread(inner)) {
      for (Item &item : all)
        if (item.distribution)
          item.number = reduced(node.stat, *item.distribution);
        else if (!item.samples.empty())
          item.number = over(node.stat, item);
      return all;
    }
    return {over_rows(node.stat, all)};
  }

  static bool spread(const Node &node) {
    if (node.kind != Kind::Column)
      return false;
    const ColumnRow &column = *find_column(node.row_kind, node.name).column;
    return column.distribution ||
           ((node.after_ns || node.before_ns) && column.kind != ColumnKind::Counter);
  }

  // Rows without a value are left out: flows that did not end have no completion time.
  static Item over_rows(const Stat &stat, const std::vector<Item> &all) {
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
    if (values.empty())
      return {.why = all.empty() ? "there are no rows" : all.front().why};
    // The row to look at: the one with the extreme value, the smallest for a fairness index.
    Item item = stat.kind == Stat::Kind::Min || stat.kind == Stat::Kind::Jain ? *least : *most;
    item.number = reduced(stat, values);
    return item;
  }

  const Subject &subject_;
  const ExperimentMeasurement &measured_;
  const ExperimentPrediction &prediction_;
  const SampleStore &samples_;
  uint32_t own_ = 0;
};

} // namespace

ExperimentCheck evaluate_expression(const Node &tree, const Subject &subject,
                                    const ExperimentMeasurement &measured,
                                    const ExperimentPrediction &prediction,
                                    const SampleStore &samples) {
  return Evaluator(subject, measured, prediction, samples).decide(tree);
}

} // namespace xr::experiment
