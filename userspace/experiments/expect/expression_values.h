// SPDX-License-Identifier: Apache-2.0
// The values of an expectation's expressions: numbers of rows, functions of them, arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expect/expectation.h"
#include "expect/expression.h"

namespace xr::experiment {

// A number with where it comes from. Without `number` it is a distribution or samples, or it could
// not be measured: `why`.
struct Item {
  std::optional<double> number = {};
  std::optional<std::string> text = {};
  const Histogram *distribution = nullptr;
  SampleStore::Samples samples = {};
  double seconds = 0; // Counter: the time that the number covers
  std::string why = {};
  const ColumnRow *column = nullptr; // nullptr: computed from several
  RowKind row_kind = RowKind::Total;
  uint32_t row = 0;
  bool has_row = false;
  bool needed = false;                // without a number, functions of it have none either
  std::vector<uint32_t> counted = {}; // rows, of count()
};

// What was measured. Refers to what it is made of.
class ExpressionValues {
public:
  // Whether a condition holds: what Evaluator decides.
  using Decide = std::function<ExperimentCheck(const Node &)>;
  ExpressionValues(const Subject &subject, const Evidence &evidence, Decide decide)
      : subject_(subject), evidence_(evidence), decide_(std::move(decide)) {}

  Item number(const Node &node);
  Item text(const Node &node);
  // For people: "flow-1", "episode 3 (flow-1)".
  std::string label_of(RowKind kind, size_t row) const;
  // Rows that the node names, as indices. Error: they are not known.
  Result<std::vector<uint32_t>> rows_of(const Node &node) const;

  uint32_t own = 0; // the row of the enclosing all(), any(), none() or where

private:
  // One for each row.
  std::vector<Item> items(const Node &node);
  Item arithmetic(const Node &node);
  std::vector<Item> columns(const Node &node) const;
  // Rows for which the condition holds.
  std::vector<Item> where(std::vector<Item> all, const Node &condition);
  Cell cell_of(const ColumnRow &column, RowKind kind, uint32_t row) const;
  Item column(const Node &node, uint32_t row) const;
  void window(const Node &node, const FoundColumn &found, Item &item) const;
  std::vector<Item> reduce(const Node &node);

  const Subject &subject_;
  const Evidence &evidence_;
  Decide decide_;
};

} // namespace xr::experiment
