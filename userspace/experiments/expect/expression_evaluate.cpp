// SPDX-License-Identifier: Apache-2.0
// Evaluates an expectation: whether it holds, and the value, bound, row and time that decided.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>

#include "expect/answer_columns.h"
#include "expect/expression_values.h"

namespace xr::experiment {

namespace {

using Kind = Node::Kind;
using Outcome = ExperimentCheck::Outcome;
using Samples = SampleStore::Samples;

const char *unit_of(Dimension dimension) {
  switch (dimension) {
  case Dimension::Time:
    return "ns";
  case Dimension::Bytes:
    return "bytes";
  case Dimension::Rate:
    return "bit/s";
  default:
    return "";
  }
}

class Evaluator {
public:
  Evaluator(const Subject &subject, const Evidence &evidence)
      : subject_(subject), evidence_(evidence),
        values_(subject, evidence, [this](const Node &node) { return decide(node); }) {}
  Evaluator(const Evaluator &) = delete;
  Evaluator &operator=(const Evaluator &) = delete;

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
    default: {
      ExperimentCheck check = compare(node);
      check.unit = unit_of(compared_dimension(node, subject_));
      return check;
    }
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
    const auto rows = values_.rows_of(node);
    if (!rows)
      return {.why = rows.error().message};
    for (const uint32_t row : rows.get()) {
      const auto outer = std::exchange(values_.own, row);
      checks.push_back(decide(*node.children[0]));
      values_.own = outer;
      if (checks.back().row.empty())
        look_at(nullptr, node.row_kind, row, checks.back());
    }
    if (checks.empty())
      return without_rows(node);
    ExperimentCheck check =
        choose(std::move(checks), node.kind == Kind::All ? Outcome::Fails : Outcome::Holds);
    if (node.kind == Kind::None && check.outcome != Outcome::Unmeasured)
      check.outcome = check.outcome == Outcome::Holds ? Outcome::Fails : Outcome::Holds;
    return check;
  }

  // Answers may have no row: then all() has not been seen to hold.
  static ExperimentCheck without_rows(const Node &node) {
    if (node.kind == Kind::All)
      return {.why = fmt::format("there are no {}", row_words(node.row_kind)->many)};
    return {.outcome = node.kind == Kind::None ? Outcome::Holds : Outcome::Fails};
  }

  // cause == 'nak'
  ExperimentCheck compare_texts(const Node &node) {
    const bool first = node.children[0]->kind == Kind::Text;
    const Item left = values_.text(*node.children[first ? 1 : 0]);
    ExperimentCheck check;
    check.why = left.why;
    check.left_out = left.has_row && !left.needed;
    if (!left.text)
      return check;
    check.bound_text = node.children[first ? 0 : 1]->name;
    check.value_text = *left.text;
    const bool same = fnmatch(check.bound_text.c_str(), left.text->c_str(), 0) == 0;
    check.outcome = same == (node.kind == Kind::Equal) ? Outcome::Holds : Outcome::Fails;
    look_at(left.column, left.row_kind, left.row, check);
    return check;
  }

  // cause in ['nak', 'read'], qp in [17, 18]. The bound is all of the list, or the nearest number.
  ExperimentCheck listed(const Node &node) {
    const bool texts = node.children[1]->kind == Kind::Text;
    const Item left = texts ? values_.text(*node.children[0]) : values_.number(*node.children[0]);
    ExperimentCheck check;
    check.why = left.why;
    check.left_out = left.has_row && !left.needed;
    if (texts ? !left.text : !left.number)
      return check;
    check.outcome = Outcome::Fails;
    for (size_t i = 1; i < node.children.size(); i++) {
      if (texts) {
        const std::string &pattern = node.children[i]->name;
        check.bound_text += (i > 1 ? ", " : "") + pattern;
        if (fnmatch(pattern.c_str(), left.text->c_str(), 0) == 0)
          check.outcome = Outcome::Holds;
        continue;
      }
      const Item bound = values_.number(*node.children[i]);
      if (!bound.number)
        return {.why = bound.why};
      if (!check.bound ||
          std::abs(*left.number - *bound.number) < std::abs(*left.number - *check.bound))
        check.bound = bound.number;
      if (*left.number == *bound.number)
        check.outcome = Outcome::Holds;
    }
    if (texts) {
      check.value_text = *left.text;
      look_at(left.column, left.row_kind, left.row, check);
      return check;
    }
    check.value = left.number;
    locate(left, *left.number, *check.bound, check);
    return check;
  }

  ExperimentCheck compare(const Node &node) {
    if (node.kind == Kind::In)
      return listed(node);
    for (const auto &child : node.children)
      if (child->kind == Kind::Text)
        return compare_texts(node);
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
        check.left_out = item->has_row && !item->needed;
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
    locate(left.column || !left.counted.empty() ? left : others.back(), value, bound, check);
    return check;
  }

  void look_at(const ColumnRow *column, RowKind kind, uint32_t row, ExperimentCheck &check) const {
    check.row = values_.label_of(kind, row);
    if (!is_answer(kind))
      return;
    check.t_ns = answer_time(kind, *evidence_.answers, row);
    const CaptureFrame frame = answer_frame(column, kind, *evidence_.answers, row);
    check.capture = frame.capture;
    check.frame = frame.number;
  }

  // Where to look: the row, and when it was farthest beyond the bound; of a counter, when it first
  // was; of a number of rows, the first beyond the bound.
  void locate(const Item &item, double value, double bound, ExperimentCheck &check) const {
    if (!item.counted.empty()) {
      const bool beyond = value > bound && bound >= 0;
      const size_t at = beyond ? static_cast<size_t>(bound) : item.counted.size() - 1;
      look_at(nullptr, item.row_kind, item.counted[std::min(at, item.counted.size() - 1)], check);
    }
    if (!item.column)
      return;
    if (item.has_row)
      look_at(item.column, item.row_kind, item.row, check);
    const Samples *series = evidence_.samples.find(item.row_kind, item.row, item.column->name);
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
  const Evidence &evidence_;
  ExpressionValues values_;
};

} // namespace

ExperimentCheck evaluate_expression(const Node &tree, const Subject &subject,
                                    const Evidence &evidence) {
  return Evaluator(subject, evidence).decide(tree);
}

} // namespace xr::experiment
