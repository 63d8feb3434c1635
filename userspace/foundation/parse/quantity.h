// SPDX-License-Identifier: Apache-2.0
// Numbers with units, and arithmetic on them: "2*{rtt}", "{rate/8}".
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "parse/value.h"

namespace xr::parse {

struct Quantity {
  double value = 0; // ns, bytes, bit/s, packets/s, a part of 1, or a number without unit
  UnitKind kind = UnitKind::None;
  std::string unit = {}; // of the text; "": chosen by the value

  std::string text() const;
};

// "40gbit", "64k", "10us", "1%" or "3".
Result<Quantity> quantity(const std::string &word);

// Numbers, names in braces, + - * / and parentheses. Rate * time is bytes.
class Expression {
public:
  // None if `text` is not an expression. Names are only in braces.
  static std::optional<Expression> parse(const std::string &text);

  const std::set<std::string> &names() const { return names_; }
  // "{NAME}" and nothing else.
  bool is_name() const { return items_.size() == 1 && !items_.front().name.empty(); }

  using Lookup = std::function<Result<Quantity>(const std::string &name)>;
  // Error: of `lookup`, units that do not fit, or a division by 0.
  Result<Quantity> evaluate(const Lookup &lookup) const;

private:
  friend class ExpressionParser;
  // In postfix order: an operator, a name or a number.
  struct Item {
    char op = 0;
    std::string name = {};
    Quantity number = {};
  };
  std::vector<Item> items_;
  std::set<std::string> names_;
};

} // namespace xr::parse
