// SPDX-License-Identifier: Apache-2.0
// Numbers and columns of an expectation.
#include <charconv>
#include <cmath>

#include "expect/token_cursor.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

using Kind = Node::Kind;
using Tree = std::unique_ptr<Node>;

// "5ms", or 5 and ms with space between.
std::string take_number(TokenCursor &cursor) {
  std::string text = cursor.take().text;
  if (text.find_first_not_of("0123456789.") != std::string::npos)
    return text;
  for (const char *unit : {"ns", "us", "ms", "s", "KB", "KiB", "MB", "MiB", "GB", "GiB", "bit",
                           "kbit", "mbit", "gbit"})
    if (cursor.take_if(unit))
      return text + unit;
  return text;
}

Result<uint64_t> time(TokenCursor &cursor) {
  if (cursor.peek().kind != Token::Kind::Number)
    return cursor.unexpected("a time");
  return parse::duration(take_number(cursor));
}

Status rows(TokenCursor &cursor, Node &node, std::optional<RowKind> inside) {
  const std::string word = cursor.peek().text;
  const auto set = [&](RowKind kind, Node::Rows which) {
    cursor.take();
    node.row_kind = kind;
    node.rows = which;
  };
  for (const RowWords &words : row_words()) {
    if (!names_rows(word, words))
      continue;
    const bool many = word == words.many;
    if (!many && inside && !cursor.is("(", 1))
      continue; // the column `flow` or `rule`
    set(words.kind, many ? Node::Rows::Many : Node::Rows::One);
    if (!many && !cursor.is("("))
      return cursor.unexpected("(");
    if (Status s = parse_rows_pattern(cursor, node); !s)
      return s;
    return many ? Status() : cursor.expect(".");
  }
  for (const auto &[name, kind] :
       {std::pair("prediction", RowKind::Prediction), std::pair("totals", RowKind::Whole)})
    if (word == name) {
      set(kind, Node::Rows::Single);
      return cursor.expect(".");
    }
  if (cursor.is(".", 1) && !stat_named(cursor.peek(2).text)) {
    std::vector<std::string_view> names = {"prediction", "totals"};
    for (const RowWords &words : row_words()) {
      names.emplace_back(words.many);
      if (!is_answer(words.kind))
        names.emplace_back(words.one);
    }
    return parse::wrong(word, "a kind of rows", parse::hint_from(word, names));
  }
  if (inside) {
    node.row_kind = *inside;
    node.rows = Node::Rows::Own;
  }
  return {};
}

} // namespace

// To add a function: Stat in expression.h, its name here, reduced in expression_values.cpp, what it
// accepts in expression_check.cpp; docs/expectations.md; experiment_expectation_test.
std::optional<Stat> stat_named(const std::string &name) {
  using enum Stat::Kind;
  for (const auto &[word, kind] :
       {std::pair("min", Min), std::pair("max", Max), std::pair("mean", Mean),
        std::pair("sum", Sum), std::pair("count", Count), std::pair("jain", Jain),
        std::pair("rate", Rate)})
    if (name == word)
      return Stat{kind};
  constexpr size_t kMostDigits = 5;
  if (name.size() < 3 || name.size() > 1 + kMostDigits || name[0] != 'p' ||
      name.find_first_not_of("0123456789", 1) != std::string::npos)
    return std::nullopt;
  return Stat{Quantile, std::stod("0." + name.substr(1))};
}

Result<Tree> parse_number(TokenCursor &cursor) {
  const size_t from = cursor.peek().from;
  const std::string text = take_number(cursor);
  Tree literal = std::make_unique<Node>();
  literal->text = cursor.since(from);
  const size_t unit = text.find_first_not_of("0123456789.");
  const std::string suffix = unit == std::string::npos ? "" : text.substr(unit);
  const std::string lowered = parse::lower(suffix);
  const auto whole = [&](const Result<uint64_t> &value, Dimension dimension) -> Result<Tree> {
    if (!value)
      return value.error();
    literal->number = static_cast<double>(value.get());
    literal->dimension = dimension;
    return std::move(literal);
  };
  if (lowered.ends_with("bit"))
    return whole(parse::rate(text, 0), Dimension::Rate);
  if (lowered.ends_with("s") || lowered == "min")
    return whole(parse::duration(text), Dimension::Time);
  if (!lowered.empty() && lowered != "%" && !lowered.starts_with("e"))
    return whole(parse::byte_count(text, 0),
                 lowered.ends_with("b") ? Dimension::Bytes : Dimension::Any);
  literal->percent = lowered == "%";
  const char *end = text.data() + text.size() - (literal->percent ? 1 : 0);
  const auto [stop, error] = std::from_chars(text.data(), end, literal->number);
  if (error != std::errc() || stop != end || !std::isfinite(literal->number))
    return parse::wrong(text, "a number", "like 0.99, 10gbit, 5ms, 200KB or 10%");
  if (literal->percent)
    literal->number /= 100;
  return literal;
}

Status parse_rows_pattern(TokenCursor &cursor, Node &made) {
  if (!cursor.is("("))
    return {};
  cursor.take();
  const bool rank = made.row_kind == RowKind::Rank && cursor.peek().kind == Token::Kind::Number;
  if (cursor.peek().kind != Token::Kind::Quoted && !rank)
    return cursor.unexpected(made.row_kind == RowKind::Rank ? "a rank's number or 'JOB:RANK'"
                                                            : "a name in quotes");
  made.pattern = cursor.take().text;
  return cursor.expect(")");
}

Result<Tree> parse_column(TokenCursor &cursor, std::optional<RowKind> inside) {
  const size_t from = cursor.peek().from;
  Tree column = std::make_unique<Node>();
  column->kind = Kind::Column;
  XR_TRY(rows(cursor, *column, inside));
  const bool alone = column->rows == Node::Rows::Many && !cursor.take_if(".");
  if (!alone && cursor.peek().kind != Token::Kind::Name)
    return cursor.unexpected("a column");
  if (!alone)
    column->name = cursor.take().text;
  std::optional<Stat> stat;
  if (!alone && cursor.take_if(".")) {
    stat = stat_named(cursor.peek().text);
    if (!stat)
      return parse::wrong(cursor.peek().text, "a function",
                          parse::hint_from(cursor.peek().text, {"min", "max", "mean", "p50", "p99",
                                                                "sum", "count", "jain", "rate"}));
    cursor.take();
  }
  for (const auto &[word, member] :
       {std::pair("after", &Node::after_ns), std::pair("before", &Node::before_ns)})
    if (cursor.take_if(word)) {
      const auto ns = XR_TRY(time(cursor));
      (*column).*member = ns;
    }
  if (column->after_ns && column->before_ns && *column->after_ns >= *column->before_ns)
    return Error{"'after' is not earlier than 'before'", "after 20ms before 40ms"};
  column->text = cursor.since(from);
  if (!stat)
    return column;
  Tree reduced = std::make_unique<Node>();
  reduced->kind = Kind::Reduce;
  reduced->text = cursor.since(from);
  reduced->children.push_back(std::move(column));
  reduced->stat = *stat;
  return reduced;
}

} // namespace xr::experiment
