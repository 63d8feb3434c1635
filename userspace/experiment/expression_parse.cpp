// SPDX-License-Identifier: Apache-2.0
// Parses an expectation by recursive descent:
//   or         = and {"or" and}
//   and        = not {"and" not}
//   not        = "not" not | comparison
//   comparison = sum [OP sum | "within" sum "of" sum | "between" sum "and" sum]
//   sum        = product {("+"|"-") product}
//   product    = unary {("*"|"/") unary}
//   unary      = "-" unary | primary
//   primary    = NUMBER | "(" or ")" | STAT "(" sum ")" | ("all"|"any"|"none") "(" ROWS "," or ")"
//   | column column     = [ROWS "."] NAME ["." STAT] ["after" TIME] ["before" TIME]
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "experiment/expression.h"
#include "experiment/tokens.h"
#include "parse/value.h"
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

const Operator *find(std::span<const Operator> all, const std::string &text) {
  for (const Operator &one : all)
    if (one.text == text)
      return &one;
  return nullptr;
}

class Parser {
public:
  Parser(const std::string &text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  Result<Tree> parse() {
    auto tree = disjunction();
    if (!tree)
      return tree;
    if (peek().kind != Token::Kind::End)
      return unexpected("the end");
    return tree;
  }

private:
  const Token &peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool is(const char *text, size_t ahead = 0) const {
    const Token &token = peek(ahead);
    return token.text == text &&
           (token.kind == Token::Kind::Name || token.kind == Token::Kind::Symbol);
  }
  bool take_if(const char *text) {
    if (!is(text))
      return false;
    at_++;
    return true;
  }
  Error unexpected(const std::string &wanted) const {
    const Token &token = peek();
    const std::string found =
        token.kind == Token::Kind::End ? "it ends" : fmt::format("there is '{}'", token.text);
    return {fmt::format("{} where {} is needed", found, wanted), kExample};
  }
  Status descend() {
    return ++depth_ <= kDeepest ? Status()
                                : Status(Error{"it is nested too deeply",
                                               fmt::format("at most {} levels", kDeepest)});
  }
  Status expect(const char *text) {
    return take_if(text) ? Status() : Status(unexpected(fmt::format("'{}'", text)));
  }

  Tree node(Kind kind, size_t from) const {
    auto made = std::make_unique<Node>();
    made->kind = kind;
    made->text = text_.substr(from, tokens_[at_ - 1].to - from);
    return made;
  }
  template <typename... Trees> Tree join(Kind kind, size_t from, Trees &&...trees) const {
    Tree made = node(kind, from);
    (made->children.push_back(std::forward<Trees>(trees)), ...);
    return made;
  }

  Result<Tree> chain(const char *word, Kind kind, Result<Tree> (Parser::*next)()) {
    const size_t from = peek().from;
    auto left = (this->*next)();
    while (left && take_if(word)) {
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
    if (Status s = descend(); !s)
      return s.error();
    const size_t from = peek().from;
    const bool negative = take_if("not");
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
    if (Status s = expect(separator); !s)
      return s.error();
    auto second = sum();
    if (!second)
      return second;
    return join(kind, from, std::move(left), std::move(first).get(), std::move(second).get());
  }

  Result<Tree> comparison() {
    const size_t from = peek().from;
    auto left = sum();
    if (!left)
      return left;
    if (take_if("within"))
      return range(Kind::Within, from, std::move(left).get(), "of");
    if (take_if("between"))
      return range(Kind::Between, from, std::move(left).get(), "and");
    const Operator *op =
        peek().kind == Token::Kind::Symbol ? find(kComparisons, peek().text) : nullptr;
    if (!op)
      return left;
    at_++;
    auto right = sum();
    if (!right)
      return right;
    if (peek().kind == Token::Kind::Symbol && find(kComparisons, peek().text))
      return Error{fmt::format("'{}' is a second comparison", peek().text),
                   "A < B and B < C, or B between A and C"};
    return join(op->kind, from, std::move(left).get(), std::move(right).get());
  }

  Result<Tree> arithmetic(std::span<const Operator> operators, Result<Tree> (Parser::*next)()) {
    const size_t from = peek().from;
    auto left = (this->*next)();
    while (left && peek().kind == Token::Kind::Symbol) {
      const Operator *op = find(operators, peek().text);
      if (!op)
        break;
      at_++;
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
    if (Status s = descend(); !s)
      return s.error();
    const size_t from = peek().from;
    const bool negative = take_if("-");
    auto inner = negative ? unary() : primary();
    depth_--;
    if (!inner || !negative)
      return inner;
    return join(Kind::Negative, from, std::move(inner).get());
  }

  Result<Tree> number() {
    const Token token = tokens_[at_++];
    Tree made = node(Kind::Number, token.from);
    const size_t unit = token.text.find_first_not_of("0123456789.");
    const std::string suffix = unit == std::string::npos ? "" : token.text.substr(unit);
    const std::string lowered = parse::lower(suffix);
    const auto whole = [&](const Result<uint64_t> &value, Dimension dimension) -> Result<Tree> {
      if (!value)
        return value.error();
      made->number = static_cast<double>(value.get());
      made->dimension = dimension;
      return std::move(made);
    };
    if (lowered.ends_with("bit"))
      return whole(parse::rate(token.text), Dimension::Rate);
    if (lowered.ends_with("s") || lowered == "min")
      return whole(parse::duration(token.text), Dimension::Time);
    if (!lowered.empty() && lowered != "%" && !lowered.starts_with("e"))
      return whole(parse::byte_count(token.text, 0),
                   lowered.ends_with("b") ? Dimension::Bytes : Dimension::Any);
    made->percent = lowered == "%";
    const char *end = token.text.data() + token.text.size() - (made->percent ? 1 : 0);
    const auto [stop, error] = std::from_chars(token.text.data(), end, made->number);
    if (error != std::errc() || stop != end || !std::isfinite(made->number))
      return parse::wrong(token.text, "a number", "like 0.99, 10gbit, 5ms, 200KB or 10%");
    if (made->percent)
      made->number /= 100;
    return made;
  }

  Result<uint64_t> time() {
    if (peek().kind != Token::Kind::Number)
      return unexpected("a time");
    return parse::duration(tokens_[at_++].text);
  }

  Result<Tree> quantified(Kind kind) {
    const size_t from = peek().from;
    at_ += 2; // the word and (
    Tree made = std::make_unique<Node>();
    const std::string rows = peek().text;
    if (rows != "flows" && rows != "queues")
      return parse::wrong(rows, "a kind of rows", "all(flows, drops == 0)");
    at_++;
    if (Status s = rows_pattern(*made); !s)
      return s.error();
    made->row_kind = rows == "flows" ? RowKind::Flow : RowKind::Queue;
    if (Status s = expect(","); !s)
      return s.error();
    const std::optional<RowKind> outer = inside_;
    inside_ = made->row_kind;
    auto inner = disjunction();
    inside_ = outer;
    if (!inner)
      return inner;
    if (Status s = expect(")"); !s)
      return s.error();
    made->kind = kind;
    made->rows = Node::Rows::Many;
    made->text = text_.substr(from, tokens_[at_ - 1].to - from);
    made->children.push_back(std::move(inner).get());
    return made;
  }

  // ('NAME'), if it is there.
  Status rows_pattern(Node &made) {
    if (!is("("))
      return {};
    at_++;
    if (peek().kind != Token::Kind::Quoted)
      return unexpected("a name in quotes");
    made.pattern = tokens_[at_++].text;
    return expect(")");
  }

  Status rows(Node &made) {
    const std::string word = peek().text;
    const auto set = [&](RowKind kind, Node::Rows which) {
      at_++;
      made.row_kind = kind;
      made.rows = which;
    };
    if (word == "flow" || word == "queue") {
      set(word == "flow" ? RowKind::Flow : RowKind::Queue, Node::Rows::One);
      if (!is("("))
        return unexpected("(");
      if (Status s = rows_pattern(made); !s)
        return s;
      return expect(".");
    }
    if (word == "flows" || word == "queues") {
      set(word == "flows" ? RowKind::Flow : RowKind::Queue, Node::Rows::Many);
      if (Status s = rows_pattern(made); !s)
        return s;
      return expect(".");
    }
    if (word == "prediction") {
      set(RowKind::Prediction, Node::Rows::Single);
      return expect(".");
    }
    if (is(".", 1) && !stat_named(peek(2).text)) {
      constexpr std::string_view kRows[] = {"flows", "flow", "queues", "queue", "prediction"};
      return parse::wrong(word, "a kind of rows",
                          parse::hint_from(word, {std::begin(kRows), std::end(kRows)}));
    }
    if (inside_) {
      made.row_kind = *inside_;
      made.rows = Node::Rows::Own;
    }
    return {};
  }

  Result<Tree> column() {
    const size_t from = peek().from;
    Tree made = std::make_unique<Node>();
    made->kind = Kind::Column;
    if (Status s = rows(*made); !s)
      return s.error();
    if (peek().kind != Token::Kind::Name)
      return unexpected("a column");
    made->name = tokens_[at_++].text;
    std::optional<Stat> stat;
    if (take_if(".")) {
      stat = stat_named(peek().text);
      if (!stat)
        return parse::wrong(peek().text, "a function",
                            parse::hint_from(peek().text, {"min", "max", "mean", "p50", "p99",
                                                           "sum", "count", "jain", "rate"}));
      at_++;
    }
    for (const auto &[word, member] :
         {std::pair("after", &Node::after_ns), std::pair("before", &Node::before_ns)})
      if (take_if(word)) {
        const auto ns = time();
        if (!ns)
          return ns.error();
        (*made).*member = ns.get();
      }
    if (made->after_ns && made->before_ns && *made->after_ns >= *made->before_ns)
      return Error{"'after' is not earlier than 'before'", "after 20ms before 40ms"};
    made->text = text_.substr(from, tokens_[at_ - 1].to - from);
    if (!stat)
      return made;
    Tree reduced = join(Kind::Reduce, from, std::move(made));
    reduced->stat = *stat;
    return reduced;
  }

  Result<Tree> primary() {
    const size_t from = peek().from;
    if (peek().kind == Token::Kind::Number)
      return number();
    if (take_if("(")) {
      auto inner = disjunction();
      if (!inner)
        return inner;
      if (Status s = expect(")"); !s)
        return s.error();
      return inner;
    }
    if (peek().kind != Token::Kind::Name)
      return unexpected("a number or a column");
    if (!is("(", 1))
      return column();
    if (const Operator *op = find(kQuantifiers, peek().text))
      return quantified(op->kind);
    const std::optional<Stat> stat = stat_named(peek().text);
    if (!stat) {
      if (is("flow") || is("flows") || is("queue") || is("queues"))
        return column();
      return parse::wrong(
          peek().text, "a function",
          parse::hint_from(peek().text, {"min", "max", "mean", "p50", "p99", "sum", "count", "jain",
                                         "rate", "all", "any", "none", "flow", "queue"}));
    }
    at_ += 2;
    auto inner = sum();
    if (!inner)
      return inner;
    if (Status s = expect(")"); !s)
      return s.error();
    Tree made = join(Kind::Reduce, from, std::move(inner).get());
    made->stat = *stat;
    return made;
  }

  static constexpr const char *kExample = "like jain(flows.rate_bps) >= 0.99";

  std::string text_;
  std::vector<Token> tokens_;
  size_t at_ = 0, depth_ = 0;
  std::optional<RowKind> inside_; // all(), any(), none()
};

} // namespace

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

Result<std::unique_ptr<Node>> parse_expression(const std::string &text) {
  auto tokens = tokens_of(text);
  if (!tokens)
    return tokens.error();
  return Parser(text, std::move(tokens).get()).parse();
}

} // namespace xr::experiment
