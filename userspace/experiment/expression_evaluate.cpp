// SPDX-License-Identifier: Apache-2.0
// Evaluates an expectation: whether it holds, and the value, bound, row and time that decided.
#include <algorithm>
#include <cmath>

#include "experiment/expression_values.h"

namespace xr::experiment {

namespace {

using Kind = Node::Kind;
using Outcome = ExperimentCheck::Outcome;
using Samples = SampleStore::Samples;

class Evaluator {
public:
  Evaluator(const Subject &subject, const ExperimentMeasurement &measured,
            const ExperimentPrediction &prediction, const SampleStore &samples)
      : subject_(subject), samples_(samples), values_(subject, measured, prediction, samples) {}

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
      const auto outer = values_.own;
      values_.own = static_cast<uint32_t>(row);
      checks.push_back(decide(*node.children[0]));
      values_.own = outer;
      if (checks.back().row.empty())
        checks.back().row = values_.name_of(node.row_kind, row);
    }
    ExperimentCheck check =
        choose(std::move(checks), node.kind == Kind::All ? Outcome::Fails : Outcome::Holds);
    if (node.kind == Kind::None && check.outcome != Outcome::Unmeasured)
      check.outcome = check.outcome == Outcome::Holds ? Outcome::Fails : Outcome::Holds;
    return check;
  }

  ExperimentCheck compare(const Node &node) {
    const Item left = values_.number(*node.children[0]);
    std::vector<Item> others;
    for (size_t i = 1; i < node.children.size(); i++)
      others.push_back(values_.number(*node.children[i]));
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

  // Where to look: the row, and when it was farthest beyond the bound; of a counter, when it first
  // was.
  void locate(const Item &item, double value, double bound, ExperimentCheck &check) const {
    if (!item.column)
      return;
    if (item.has_row)
      check.row = values_.name_of(item.row_kind, item.row);
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

  const Subject &subject_;
  const SampleStore &samples_;
  ExpressionValues values_;
};

} // namespace

ExperimentCheck evaluate_expression(const Node &tree, const Subject &subject,
                                    const ExperimentMeasurement &measured,
                                    const ExperimentPrediction &prediction,
                                    const SampleStore &samples) {
  return Evaluator(subject, measured, prediction, samples).decide(tree);
}

} // namespace xr::experiment
