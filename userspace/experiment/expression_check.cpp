// SPDX-License-Identifier: Apache-2.0
// Checks an expectation against what the experiment will have: names, columns, and what each
// operator and function accepts.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiment/expectation.h"
#include "experiment/expression.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

using Kind = Node::Kind;

// Spread: a distribution, or samples over time. Sampled counters and rates are a number too.
struct Type {
  enum class Shape : uint8_t { Truth, Number, Spread };
  Shape shape = Shape::Number;
  bool many = false;
  bool counter = false; // the column itself, without a function
  bool implied = false; // a Spread that is also a number
  Dimension dimension = Dimension::Any;
};
using Shape = Type::Shape;

const char *rows_name(RowKind kind) {
  if (const RowWords *words = row_words(kind))
    return words->many;
  return kind == RowKind::Total ? "the run" : "prediction";
}

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

  Status names(const Node &node) const {
    const RowWords *words = row_words(node.row_kind);
    if (!words || node.rows == Node::Rows::Own)
      return {};
    const auto rows = select_rows(subject_, node.row_kind, node.pattern);
    const auto &all = subject_.names(node.row_kind);
    if (all.empty())
      return Error{fmt::format("the experiment has no {}", words->many), ""};
    if (rows.empty()) {
      std::vector<std::string_view> names(all.begin(), all.end());
      if (node.row_kind == RowKind::Queue)
        for (const auto &[alias, name] : subject_.aliases)
          names.emplace_back(alias);
      constexpr size_t kMostListed = 20;
      const std::string near = parse::nearest(node.pattern, names);
      names.resize(std::min(names.size(), kMostListed));
      return Error{fmt::format("there is no {} '{}'", words->one, node.pattern),
                   near.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                : fmt::format("did you mean {}?", near)};
    }
    if (node.rows == Node::Rows::One && rows.size() > 1)
      return Error{
          fmt::format("'{}' is {} {}", node.pattern, rows.size(), rows_name(node.row_kind)),
          fmt::format("{}('{}') has many rows", rows_name(node.row_kind), node.pattern)};
    return {};
  }

  Result<Type> column(const Node &node) const {
    if (Status s = names(node); !s)
      return s.error();
    const FoundColumn found = find_column(node.row_kind, node.name);
    if (!found.column)
      return Error{fmt::format("'{}' is not a column of {}", node.name, rows_name(node.row_kind)),
                   parse::hint_from(node.name, column_names(node.row_kind))};
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
    if (!node.after_ns && !node.before_ns && column.kind == ColumnKind::Sampled)
      return Error{fmt::format("{} is only sampled over time", node.text),
                   fmt::format("{} after 20ms", node.text)};
    if (!node.after_ns && !node.before_ns)
      return type;
    if (Status s = sampled(node, column); !s)
      return s.error();
    if (!type.counter)
      type.shape = Shape::Spread;
    type.implied = true;
    return type;
  }

  Status sampled(const Node &node, const ColumnRow &column) const {
    if (!subject_.samples)
      return Error{fmt::format("{}: there are no samples", node.text), "sample: 100us"};
    if (node.row_kind == RowKind::Rule)
      return Error{fmt::format("{}: rules are not sampled over time", node.text),
                   "the column of the whole run"};
    if (!subject_.sampled.count({node.row_kind, column.name})) {
      std::vector<std::string_view> names;
      for (const auto &[kind, name] : subject_.sampled)
        if (kind == node.row_kind)
          names.push_back(name);
      return Error{
          fmt::format("{}: {} is not sampled over time", node.text, column.name),
          fmt::format("of {} there are {}", rows_name(node.row_kind), fmt::join(names, ", "))};
    }
    for (const auto &time : {node.after_ns, node.before_ns})
      if (time && *time >= subject_.duration_ns)
        return Error{fmt::format("{}: the run ends at {}", node.text,
                                 parse::duration_text(subject_.duration_ns)),
                     "times count from the start of the run"};
    return {};
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
      return Error{fmt::format("{} of {}: it is one value", stat_name(node.stat), inner.text),
                   "of many: flows.rate_bps, queues.dropped, or over time: backlog_bytes, after T"};
    const bool plain = stat == Count || stat == Jain;
    return Type{.dimension = plain ? Dimension::Plain : type->dimension};
  }

  // One number.
  Result<Type> number(const Node &node) {
    auto type = check(node);
    if (!type)
      return type;
    if (type->shape == Shape::Truth)
      return Error{fmt::format("'{}' is a condition, not a number", node.text),
                   "join conditions by and, or, not"};
    if (type->many)
      return Error{fmt::format("{} are many values", node.text),
                   fmt::format("min({}), or all(flows, ...)", node.text)};
    if (type->shape == Shape::Spread && !type->implied)
      return Error{fmt::format("{} is a distribution", node.text),
                   fmt::format("{}.mean, .p50, .p99, .max or .min", node.text)};
    return Type{.dimension = type->dimension};
  }

  // Two numbers of one dimension.
  Result<Type> same(const Node &node, size_t a, size_t b) {
    const Node &left = *node.children[a], &right = *node.children[b];
    auto one = number(left), two = number(right);
    if (!one)
      return one;
    if (!two)
      return two;
    const Dimension first = one.get().dimension, second = two.get().dimension;
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
      if (Status s = condition(*child); !s)
        return s.error();
    return Type{.shape = Shape::Truth};
  }

  Status condition(const Node &node) {
    const auto type = check(node);
    if (!type)
      return type.error();
    if (type.get().shape != Shape::Truth)
      return Error{fmt::format("'{}' is not a condition", node.text),
                   fmt::format("like {} >= 0", node.text)};
    return {};
  }

  Result<Type> quantified(const Node &node) {
    if (Status s = names(node); !s)
      return s.error();
    return logic(node);
  }

  const Subject &subject_;

public:
  Status whole(const Node &node) { return condition(node); }
};

} // namespace

Status check_expression(const Node &tree, const Subject &subject) {
  return Checker(subject).whole(tree);
}

} // namespace xr::experiment
