// SPDX-License-Identifier: Apache-2.0
// Checks an expectation against what the experiment will have: names, columns, and what each
// operator and function accepts.
#include <algorithm>

#include <fmt/format.h>

#include "expect/expectation.h"
#include "expect/expression.h"
#include "expect/expression_names.h"

namespace xr::experiment {

namespace {

using Kind = Node::Kind;

// Spread: a distribution, or samples over time. Sampled counters and rates are a number too.
struct Type {
  enum class Shape : uint8_t { Truth, Number, Spread, Text, Rows };
  Shape shape = Shape::Number;
  bool many = false;
  bool counter = false; // the column itself, without a function
  bool implied = false; // a Spread that is also a number
  Dimension dimension = Dimension::Any;
};
using Shape = Type::Shape;

class Checker {
public:
  explicit Checker(const Subject &subject) : subject_(subject) {}

  Result<Type> check(const Node &node) {
    switch (node.kind) {
    case Kind::Number:
      return Type{.dimension = node.dimension};
    case Kind::Column:
      return column(node);
    case Kind::Reduce:
      return reduce(node);
    case Kind::Negative:
      return number(*node.children[0]);
    case Kind::Add:
    case Kind::Subtract:
      return same(node, 0, 1);
    case Kind::Multiply:
    case Kind::Divide:
      return product(node);
    case Kind::And:
    case Kind::Or:
    case Kind::Not:
      return logic(node);
    case Kind::All:
    case Kind::Any:
    case Kind::None:
      return quantified(node);
    case Kind::Within:
      return within(node);
    case Kind::Text:
      return Type{.shape = Shape::Text};
    case Kind::In:
      return listed(node);
    case Kind::Equal:
    case Kind::NotEqual:
      for (const size_t i : {0, 1})
        if (node.children[i]->kind == Kind::Text)
          return equality(*node.children[1 - i], *node.children[i]);
      return truth(same(node, 0, 1));
    case Kind::Between:
      if (auto first = same(node, 0, 1); !first)
        return first;
      return truth(same(node, 0, 2));
    default:
      return truth(same(node, 0, 1));
    }
  }

private:
  static Result<Type> truth(const Result<Type> &type) {
    if (!type)
      return type;
    return Type{.shape = Shape::Truth};
  }

  // A column of texts, and the text or pattern that it is compared with.
  Result<Type> equality(const Node &left, const Node &right) {
    const FoundColumn found =
        left.kind == Kind::Column ? find_column(left.row_kind, left.name) : FoundColumn{};
    auto type = check(left);
    if (!type)
      return type;
    if (!found.column || type.get().shape != Shape::Text)
      return Error{fmt::format("{} is a text, {} is none", right.text, left.text),
                   "texts are compared with columns of texts, like cause == 'nak'"};
    if (type.get().many)
      return many_values(left);
    const ColumnRow &column = *found.column;
    XR_TRY(check_text(column, left, right, subject_));
    return Type{.shape = Shape::Truth};
  }

  Result<Type> listed(const Node &node) {
    for (size_t i = 1; i < node.children.size(); i++) {
      const Node &value = *node.children[i];
      auto type = value.kind == Kind::Text ? equality(*node.children[0], value) : same(node, 0, i);
      if (!type)
        return type;
    }
    return Type{.shape = Shape::Truth};
  }

  static Error many_values(const Node &node) {
    return {fmt::format("{} are many values", node.text),
            fmt::format("min({}), or all({}, ...)", node.text, rows_name(node.row_kind))};
  }

  Result<Type> rows_alone(const Node &node) const {
    XR_TRY(check_times(node, nullptr, subject_));
    return Type{.shape = Shape::Rows, .many = true, .dimension = Dimension::Plain};
  }

  Result<Type> column(const Node &node) const {
    XR_TRY(check_names(node, subject_));
    if (node.name.empty())
      return rows_alone(node);
    const FoundColumn found = find_column(node.row_kind, node.name);
    if (found.why)
      return Error{fmt::format("{} has no value here", node.text), found.why};
    if (!found.column)
      return Error{fmt::format("'{}' is not a column of {}", node.name, rows_name(node.row_kind)),
                   column_hint(node.row_kind, node.name)};
    if (node.row_kind == RowKind::Prediction && !subject_.no_prediction.empty())
      return Error{fmt::format("{}: there is no prediction: {}", node.text, subject_.no_prediction),
                   "an expectation without prediction"};
    const ColumnRow &column = *found.column;
    if (const auto absent = subject_.absent.find({node.row_kind, column.name});
        absent != subject_.absent.end())
      return Error{fmt::format("{} is not measured here", node.text),
                   fmt::format("it needs {}", absent->second)};
    Type type{.many = node.rows == Node::Rows::Many,
              .counter = column.kind == ColumnKind::Counter,
              .dimension = found.scale == 1 ? column.dimension : Dimension::Plain};
    if (column.distribution)
      type.shape = Shape::Spread;
    if (column.texts != Texts::None)
      type.shape = Shape::Text;
    if (!node.after_ns && !node.before_ns && column.kind == ColumnKind::Sampled)
      return Error{fmt::format("{} is only sampled over time", node.text),
                   fmt::format("{} after 20ms", node.text)};
    XR_TRY(check_times(node, &column, subject_));
    if ((!node.after_ns && !node.before_ns) || is_answer(node.row_kind))
      return type;
    if (!type.counter)
      type.shape = Shape::Spread;
    type.implied = true;
    return type;
  }

  static const char *stat_name(const Stat &stat) {
    constexpr const char *kNames[] = {"min", "max", "mean", "sum", "count", "jain", "rate", "p99"};
    return kNames[static_cast<size_t>(stat.kind)];
  }

  Result<Type> reduce(const Node &node) {
    const Node &inner = *node.children[0];
    auto type = check(inner);
    if (!type)
      return type;
    using enum Stat::Kind;
    const Stat::Kind stat = node.stat.kind;
    if (node.children.size() > 1)
      XR_TRY(condition(*node.children[1]));
    if (stat == Count && type->many && (type->shape == Shape::Rows || type->shape == Shape::Text))
      return Type{.dimension = Dimension::Plain};
    XR_TRY(numeric(inner, *type));
    if (stat == Rate) {
      if (!type->counter)
        return Error{fmt::format("rate: {} is not a counter", inner.text),
                     "like rate(flow('flow-1').cnps), per second"};
      return Type{.many = type->many, .dimension = Dimension::Any};
    }
    if (type->shape == Shape::Spread) {
      if (stat == Sum || stat == Count || stat == Jain)
        return Error{
            fmt::format("{} of {}: these are values over time", stat_name(node.stat), inner.text),
            "min, max, mean, p50 and p99 of them"};
      return Type{.many = type->many, .dimension = type->dimension};
    }
    if (type->shape == Shape::Truth || !type->many)
      return Error{
          fmt::format("{} of {}: it is one value", stat_name(node.stat), inner.text),
          "of many: flows.goodput_bps, queues.dropped, or over time: backlog_bytes, after T"};
    const bool plain = stat == Count || stat == Jain;
    return Type{.dimension = plain ? Dimension::Plain : type->dimension};
  }

  // Not a text, and not rows.
  static Status numeric(const Node &node, const Type &type) {
    if (type.shape == Shape::Rows)
      return Error{fmt::format("{} are rows, not a number", node.text),
                   fmt::format("count({0}), or a column: {0}.NAME", node.text)};
    if (type.shape == Shape::Text)
      return Error{fmt::format("{} is a text, not a number", node.text),
                   "texts are compared by == and !=: all(episodes, cause == 'nak')"};
    return {};
  }

  // One number.
  Result<Type> number(const Node &node) {
    auto type = check(node);
    if (!type)
      return type;
    if (type->shape == Shape::Truth)
      return Error{fmt::format("'{}' is a condition, not a number", node.text),
                   "join conditions by and, or, not"};
    XR_TRY(numeric(node, *type));
    if (type->many)
      return many_values(node);
    if (type->shape == Shape::Spread && !type->implied)
      return Error{fmt::format("{} is a distribution", node.text),
                   fmt::format("{}.mean, .p50, .p99, .max or .min", node.text)};
    return Type{.dimension = type->dimension};
  }

  // Two numbers of one dimension.
  Result<Type> same(const Node &node, size_t a, size_t b) {
    const Node &left = *node.children[a], &right = *node.children[b];
    auto item = number(left), two = number(right);
    if (!item)
      return item;
    if (!two)
      return two;
    const Dimension first = item.get().dimension, second = two.get().dimension;
    if (first != Dimension::Any && second != Dimension::Any && first != second)
      return Error{fmt::format("{} is {}, {} is {}", left.text, dimension_name(first), right.text,
                               dimension_name(second)),
                   "units are ns us ms s, KB KiB MB, kbit mbit gbit"};
    return Type{.dimension = first == Dimension::Any ? second : first};
  }

  Result<Type> product(const Node &node) {
    for (const auto &child : node.children)
      if (auto type = number(*child); !type)
        return type;
    return Type{};
  }

  Result<Type> within(const Node &node) {
    auto type = same(node, 0, 2);
    if (!type)
      return type;
    if (node.children[1]->percent)
      return Type{.shape = Shape::Truth};
    return truth(same(node, 0, 1));
  }

  Result<Type> logic(const Node &node) {
    for (const auto &child : node.children)
      XR_TRY(condition(*child));
    return Type{.shape = Shape::Truth};
  }

  Status condition(const Node &node) {
    const auto type = XR_TRY(check(node));
    if (type.shape != Shape::Truth)
      return Error{fmt::format("'{}' is not a condition", node.text),
                   fmt::format("like {} >= 0", node.text)};
    return {};
  }

  Result<Type> quantified(const Node &node) {
    XR_TRY(check_names(node, subject_));
    return logic(node);
  }

  const Subject &subject_;

public:
  Status whole(const Node &node) { return condition(node); }

  Dimension compared(const Node &comparison) {
    for (const auto &child : comparison.children)
      if (auto type = check(*child);
          type.ok() && !child->percent && type->dimension != Dimension::Any)
        return type->dimension;
    return Dimension::Any;
  }
};

} // namespace

Status check_expression(const Node &tree, const Subject &subject) {
  return Checker(subject).whole(tree);
}

Dimension compared_dimension(const Node &comparison, const Subject &subject) {
  return Checker(subject).compared(comparison);
}

} // namespace xr::experiment
