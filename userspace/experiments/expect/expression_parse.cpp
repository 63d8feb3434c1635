// SPDX-License-Identifier: Apache-2.0
// Parses an expectation by recursive descent:
//   or         = and {"or" and}
//   and        = not {"and" not}
//   not        = "not" not | comparison
//   comparison = sum [OP sum | "within" sum "of" sum | "between" sum "and" sum |
//                "in" "[" sum {"," sum} "]"]
//   sum        = product {("+"|"-") product}
//   product    = unary {("*"|"/") unary}
//   unary      = "-" unary | primary
//   primary    = NUMBER | TEXT | "(" or ")" | STAT "(" sum ["where" or] ")" | column |
//                ("all"|"any"|"none") "(" ROWS "," or ")"
//   column     = [ROWS "."] NAME ["." STAT] ["after" TIME] ["before" TIME] | ROWS
// NUMBER and column are read by expression_operand.cpp.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "expect/token_cursor.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

using Kind = Node::Kind;
using Tree = std::unique_ptr<Node>;

constexpr size_t kDeepest = 100; // nested parentheses

struct Operator {
  const char *text;
  Kind kind;
};
constexpr Operator kComparisons[] = {{"<", Kind::Less},    {"<=", Kind::LessOrEqual},
                                     {">", Kind::Greater}, {">=", Kind::GreaterOrEqual},
                                     {"==", Kind::Equal},  {"!=", Kind::NotEqual}};
constexpr Operator kSums[] = {{"+", Kind::Add}, {"-", Kind::Subtract}};
constexpr Operator kProducts[] = {{"*", Kind::Multiply}, {"/", Kind::Divide}};
constexpr Operator kQuantifiers[] = {{"all", Kind::All}, {"any", Kind::Any}, {"none", Kind::None}};

// To add an operator: Node::Kind in expression.h, the grammar here, what it accepts in
// expression_check.cpp, its value in expression_values.cpp or expression_evaluate.cpp;
// docs/expectations.md; experiment_expectation_test.
const Operator *find(std::span<const Operator> all, const std::string &text) {
  for (const Operator &one : all)
    if (one.text == text)
      return &one;
  return nullptr;
}

class Parser {
public:
  explicit Parser(TokenCursor cursor) : cursor_(std::move(cursor)) {}

  Result<Tree> parse() {
    auto tree = disjunction();
    if (!tree)
      return tree;
    if (cursor_.peek().kind != Token::Kind::End)
      return cursor_.unexpected("the end");
    return tree;
  }

private:
  Status descend() {
    return ++depth_ <= kDeepest ? Status()
                                : Status(Error{"it is nested too deeply",
                                               fmt::format("at most {} levels", kDeepest)});
  }
  Tree node(Kind kind, size_t from) const {
    auto made = std::make_unique<Node>();
    made->kind = kind;
    made->text = cursor_.since(from);
    return made;
  }
  template <typename... Trees> Tree join(Kind kind, size_t from, Trees &&...trees) const {
    Tree made = node(kind, from);
    (made->children.push_back(std::forward<Trees>(trees)), ...);
    return made;
  }

  Result<Tree> chain(const char *word, Kind kind, Result<Tree> (Parser::*next)()) {
    const size_t from = cursor_.peek().from;
    auto left = (this->*next)();
    while (left && cursor_.take_if(word)) {
      auto right = (this->*next)();
      if (!right)
        return right;
      left = join(kind, from, std::move(left).get(), std::move(right).get());
    }
    return left;
  }
  Result<Tree> disjunction() { return chain("or", Kind::Or, &Parser::conjunction); }
  Result<Tree> conjunction() { return chain("and", Kind::And, &Parser::negation); }

  Result<Tree> negation() {
    XR_TRY(descend());
    const size_t from = cursor_.peek().from;
    const bool negative = cursor_.take_if("not");
    auto inner = negative ? negation() : comparison();
    depth_--;
    if (!inner || !negative)
      return inner;
    return join(Kind::Not, from, std::move(inner).get());
  }

  // `word` A `separator` B, after `left`.
  Result<Tree> range(Kind kind, size_t from, Tree left, const char *separator) {
    auto first = sum();
    if (!first)
      return first;
    XR_TRY(cursor_.expect(separator));
    auto second = sum();
    if (!second)
      return second;
    return join(kind, from, std::move(left), std::move(first).get(), std::move(second).get());
  }

  // "[" A "," B ... "]", after `left` in
  Result<Tree> list(size_t from, Tree left) {
    XR_TRY(cursor_.expect("["));
    std::vector<Tree> values;
    values.push_back(std::move(left));
    do {
      auto value = sum();
      if (!value)
        return value;
      values.push_back(std::move(value).get());
    } while (cursor_.take_if(","));
    XR_TRY(cursor_.expect("]"));
    Tree made = node(Kind::In, from);
    made->children = std::move(values);
    return made;
  }

  Result<Tree> comparison() {
    const size_t from = cursor_.peek().from;
    auto left = sum();
    if (!left)
      return left;
    if (cursor_.take_if("within"))
      return range(Kind::Within, from, std::move(left).get(), "of");
    if (cursor_.take_if("between"))
      return range(Kind::Between, from, std::move(left).get(), "and");
    if (cursor_.take_if("in"))
      return list(from, std::move(left).get());
    const Operator *op = cursor_.peek().kind == Token::Kind::Symbol
                             ? find(kComparisons, cursor_.peek().text)
                             : nullptr;
    if (!op)
      return left;
    cursor_.take();
    auto right = sum();
    if (!right)
      return right;
    if (cursor_.peek().kind == Token::Kind::Symbol && find(kComparisons, cursor_.peek().text))
      return Error{fmt::format("'{}' is a second comparison", cursor_.peek().text),
                   "A < B and B < C, or B between A and C"};
    return join(op->kind, from, std::move(left).get(), std::move(right).get());
  }

  Result<Tree> arithmetic(std::span<const Operator> operators, Result<Tree> (Parser::*next)()) {
    const size_t from = cursor_.peek().from;
    auto left = (this->*next)();
    while (left && cursor_.peek().kind == Token::Kind::Symbol) {
      const Operator *op = find(operators, cursor_.peek().text);
      if (!op)
        break;
      cursor_.take();
      auto right = (this->*next)();
      if (!right)
        return right;
      left = join(op->kind, from, std::move(left).get(), std::move(right).get());
    }
    return left;
  }
  Result<Tree> sum() { return arithmetic(kSums, &Parser::product); }
  Result<Tree> product() { return arithmetic(kProducts, &Parser::unary); }

  Result<Tree> unary() {
    XR_TRY(descend());
    const size_t from = cursor_.peek().from;
    const bool negative = cursor_.take_if("-");
    auto inner = negative ? unary() : primary();
    depth_--;
    if (!inner || !negative)
      return inner;
    return join(Kind::Negative, from, std::move(inner).get());
  }

  Result<Tree> quantified(Kind kind) {
    const size_t from = cursor_.peek().from;
    cursor_.take();
    cursor_.take(); // (
    Tree node = std::make_unique<Node>();
    const std::string rows = cursor_.peek().text;
    const auto words =
        std::ranges::find_if(row_words(), [&](const RowWords &row) { return rows == row.many; });
    if (words == row_words().end())
      return parse::wrong(rows, "a kind of rows", "all(flows, drops == 0)");
    cursor_.take();
    XR_TRY(parse_rows_pattern(cursor_, *node));
    node->row_kind = words->kind;
    XR_TRY(cursor_.expect(","));
    const std::optional<RowKind> outer = inside_;
    inside_ = node->row_kind;
    auto inner = disjunction();
    inside_ = outer;
    if (!inner)
      return inner;
    XR_TRY(cursor_.expect(")"));
    node->kind = kind;
    node->rows = Node::Rows::Many;
    node->text = cursor_.since(from);
    node->children.push_back(std::move(inner).get());
    return node;
  }

  Result<Tree> text() {
    const size_t from = cursor_.peek().from;
    std::string words = cursor_.take().text;
    Tree made = node(Kind::Text, from);
    made->name = std::move(words);
    return made;
  }

  // STAT "(" sum ["where" or] ")"
  Result<Tree> reduced(const Stat &stat) {
    const size_t from = cursor_.peek().from;
    cursor_.take();
    cursor_.take(); // (
    auto inner = sum();
    if (!inner)
      return inner;
    std::optional<Tree> condition;
    if (cursor_.take_if("where")) {
      const Node &rows = *inner.get();
      if (rows.kind != Kind::Column || rows.rows != Node::Rows::Many)
        return Error{fmt::format("'where' follows rows, and {} is none", rows.text),
                     "count(episodes where cause == 'nak'), max(flows.drops where cnps > 0)"};
      const std::optional<RowKind> outer = std::exchange(inside_, rows.row_kind);
      auto parsed = disjunction();
      inside_ = outer;
      if (!parsed)
        return parsed;
      condition = std::move(parsed).get();
    }
    XR_TRY(cursor_.expect(")"));
    Tree made = join(Kind::Reduce, from, std::move(inner).get());
    if (condition)
      made->children.push_back(std::move(*condition));
    made->stat = stat;
    return made;
  }

  Result<Tree> primary() {
    if (cursor_.peek().kind == Token::Kind::Quoted)
      return text();
    if (cursor_.peek().kind == Token::Kind::Number)
      return parse_number(cursor_);
    if (cursor_.take_if("(")) {
      auto inner = disjunction();
      if (!inner)
        return inner;
      XR_TRY(cursor_.expect(")"));
      return inner;
    }
    if (cursor_.peek().kind != Token::Kind::Name)
      return cursor_.unexpected("a number or a column");
    if (!cursor_.is("(", 1))
      return parse_column(cursor_, inside_);
    if (const Operator *op = find(kQuantifiers, cursor_.peek().text))
      return quantified(op->kind);
    const std::optional<Stat> stat = stat_named(cursor_.peek().text);
    if (!stat) {
      for (const RowWords &rows : row_words())
        if (names_rows(cursor_.peek().text, rows))
          return parse_column(cursor_, inside_);
      return parse::wrong(
          cursor_.peek().text, "a function",
          parse::hint_from(cursor_.peek().text,
                           {"min", "max", "mean", "p50", "p99", "sum", "count", "jain", "rate",
                            "all", "any", "none", "flow", "queue", "rule"}));
    }
    return reduced(*stat);
  }

  TokenCursor cursor_;
  size_t depth_ = 0;
  std::optional<RowKind> inside_; // all(), any(), none()
};

} // namespace

Result<std::unique_ptr<Node>> parse_expression(const std::string &text) {
  auto tokens = XR_TRY(tokens_of(text));
  return Parser(TokenCursor(text, std::move(tokens))).parse();
}

} // namespace xr::experiment
