// SPDX-License-Identifier: Apache-2.0
#include "parse/quantity.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "parse/words.h"

namespace xr::parse {

namespace {

constexpr double kBytesOfRateTime = 8e9; // bit/s * ns in a byte
constexpr unsigned kDeepest = 64;        // parentheses, braces and signs

std::string number_text(double value) {
  const bool whole = value == std::round(value) && std::abs(value) < 0x1p63;
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.12g}", value);
}

// "%" is 0.01 of the whole.
std::optional<KnownUnit> unit_of(const std::string &unit) {
  if (unit.empty())
    return KnownUnit{};
  const std::string name = lower(unit);
  if (name == "%" || name == "ppm")
    return KnownUnit{UnitKind::Share, name == "%" ? 1e-2 : 1e-6};
  if (name == "pps" || name == "kpps" || name == "mpps")
    return KnownUnit{UnitKind::Packets, name == "pps" ? 1 : name == "kpps" ? 1e3 : 1e6};
  return known_unit(unit);
}

bool scales(UnitKind kind) { return kind == UnitKind::None || kind == UnitKind::Share; }

std::optional<Quantity> product(const Quantity &a, const Quantity &b) {
  using enum UnitKind;
  if (b.kind == None || (b.kind == Share && a.kind != None))
    return Quantity{a.value * b.value, a.kind, a.unit};
  if (scales(a.kind))
    return Quantity{a.value * b.value, b.kind, b.unit};
  if ((a.kind == Rate && b.kind == Time) || (a.kind == Time && b.kind == Rate))
    return Quantity{a.value * b.value / kBytesOfRateTime, Bytes, ""};
  return {};
}

std::optional<Quantity> quotient(const Quantity &a, const Quantity &b) {
  using enum UnitKind;
  if (a.kind == b.kind)
    return Quantity{a.value / b.value, None, ""};
  if (scales(b.kind))
    return Quantity{a.value / b.value, a.kind, a.unit};
  if (a.kind == Bytes && b.kind == Rate)
    return Quantity{a.value * kBytesOfRateTime / b.value, Time, ""};
  if (a.kind == Bytes && b.kind == Time)
    return Quantity{a.value * kBytesOfRateTime / b.value, Rate, ""};
  return {};
}

std::optional<Quantity> combined(char op, const Quantity &a, const Quantity &b) {
  if (op == '*')
    return product(a, b);
  if (op == '/')
    return quotient(a, b);
  if (a.kind != b.kind)
    return {};
  return Quantity{op == '+' ? a.value + b.value : a.value - b.value, a.kind, a.unit};
}

} // namespace

std::string Quantity::text() const {
  if (const auto known = unit_of(unit); !unit.empty() && known)
    return number_text(value / known->factor) + unit;
  const double rounded = std::round(value);
  if (kind == UnitKind::None || !(rounded >= 0 && rounded < 0x1p63))
    return number_text(value);
  const auto whole = static_cast<uint64_t>(rounded);
  return kind == UnitKind::Time   ? duration_text(whole)
         : kind == UnitKind::Rate ? rate_text(whole)
                                  : byte_text(whole);
}

Result<Quantity> quantity(const std::string &word) {
  double value = 0;
  const char *all = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), all, value);
  const std::string unit(end, all);
  const auto known = unit_of(unit);
  if (!looks_like_number(word) || error != std::errc() || !known ||
      !std::isfinite(value * known->factor))
    return wrong(word, "a number with a unit", "like 40gbit, 64k, 10us, 1% or 3");
  return Quantity{value * known->factor, known->kind, unit};
}

// By recursive descent.
class ExpressionParser {
public:
  explicit ExpressionParser(const std::string &text) : text_(text) {}

  std::optional<Expression> parse() {
    if (!sum() || (skip(), at_ != text_.size()))
      return {};
    return std::move(made_);
  }

private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ')
      at_++;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c)
      return false;
    at_++;
    return true;
  }
  bool letter(const char *others) const {
    return at_ < text_.size() && (isalpha(static_cast<unsigned char>(text_[at_])) ||
                                  std::string_view(others).find(text_[at_]) != std::string::npos);
  }
  void add(char op) { made_.items_.push_back({.op = op}); }

  bool sum() {
    if (!factors())
      return false;
    for (;;) {
      const char op = take('+') ? '+' : take('-') ? '-' : '\0';
      if (!op)
        return true;
      if (!factors())
        return false;
      add(op);
    }
  }
  bool factors() {
    if (!factor())
      return false;
    for (;;) {
      const char op = take('*') ? '*' : take('/') ? '/' : '\0';
      if (!op)
        return true;
      if (!factor())
        return false;
      add(op);
    }
  }
  bool factor() {
    if (depth_ == kDeepest)
      return false;
    depth_++;
    const bool good = primary();
    depth_--;
    return good;
  }
  bool primary() {
    if (take('('))
      return sum() && take(')');
    if (take('{')) {
      if (braces_)
        return false;
      braces_ = true;
      const bool closed = sum() && take('}');
      braces_ = false;
      return closed;
    }
    if (braces_ && letter("_"))
      return name();
    return number();
  }
  bool name() {
    std::string word;
    while (letter("_0123456789"))
      word += text_[at_++];
    made_.names_.insert(word);
    made_.items_.push_back({.name = word});
    return true;
  }
  bool number() {
    skip();
    double value = 0;
    const char *begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc())
      return false;
    const size_t from = at_;
    at_ += static_cast<size_t>(end - begin);
    while (letter("%"))
      at_++;
    auto read = quantity(text_.substr(from, at_ - from));
    if (!read)
      return false;
    made_.items_.push_back({.number = std::move(read).get()});
    return true;
  }

  const std::string &text_;
  size_t at_ = 0;
  bool braces_ = false;
  unsigned depth_ = 0;
  Expression made_;
};

std::optional<Expression> Expression::parse(const std::string &text) {
  return ExpressionParser(text).parse();
}

Result<Quantity> Expression::evaluate(const Lookup &lookup) const {
  std::vector<Quantity> stack;
  for (const Item &item : items_) {
    if (!item.op) {
      stack.push_back(item.name.empty() ? item.number : XR_TRY(lookup(item.name)));
      continue;
    }
    const Quantity right = std::move(stack.back());
    stack.pop_back();
    const Quantity left = std::move(stack.back());
    stack.pop_back();
    const std::string text = fmt::format("{} {} {}", left.text(), item.op, right.text());
    if (item.op == '/' && right.value == 0)
      return Error{fmt::format("{}: a division by 0", text)};
    auto result = combined(item.op, left, right);
    if (!result)
      return Error{fmt::format("{}: these units do not fit", text),
                   "add and subtract values of one unit kind; rate * time is bytes"};
    if (!std::isfinite(result->value))
      return Error{fmt::format("{}: the result is too large", text)};
    stack.push_back(std::move(*result));
  }
  return stack.back();
}

} // namespace xr::parse
