// SPDX-License-Identifier: Apache-2.0
// The tree of an expectation, as it was parsed. expectation.h has the interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "expect/columns.h"

namespace xr::experiment {

// What a list or distribution is reduced to. Quantile: p50, p99, p999 ...
struct Stat {
  enum class Kind : uint8_t { Min, Max, Mean, Sum, Count, Jain, Rate, Quantile };
  Kind kind = Kind::Mean;
  double quantile = 0;
};
std::optional<Stat> stat_named(const std::string &name);

struct Node {
  enum class Kind : uint8_t {
    Number,   // number, dimension; percent
    Text,     // name, or a pattern (fnmatch)
    Column,   // rows, pattern, name, after_ns, before_ns; without name: the rows themselves
    Reduce,   // stat of children[0], of rows for which children[1] holds, if it is there
    Negative, // children[0]
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    Within,  // children[0] within children[1] of children[2]
    Between, // children[0] between children[1] and children[2]
    In,      // children[0] is one of the others
    And,
    Or,
    Not,
    All, // of `rows`: children[0]
    Any,
    None,
  };
  enum class Rows : uint8_t {
    Own,   // the row of the enclosing all(), any() or none()
    One,   // flow('...'), queue('...')
    Many,  // flows, queues, flows('pattern')
    Single // totals, prediction
  };

  Kind kind = Kind::Number;
  std::vector<std::unique_ptr<Node>> children;
  std::string text; // of the source

  double number = 0;
  bool percent = false;
  Dimension dimension = Dimension::Any;

  Rows rows = Rows::Single;
  RowKind row_kind = RowKind::Total;
  std::string pattern; // of names; "": all
  std::string name;    // of the column
  std::optional<uint64_t> after_ns, before_ns;

  Stat stat;
};

Result<std::unique_ptr<Node>> parse_expression(const std::string &text);

} // namespace xr::experiment
