// SPDX-License-Identifier: Apache-2.0
// The values of an expectation's expressions: numbers of rows, functions of them, arithmetic.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/expectation.h"
#include "experiment/expression.h"

namespace xr::experiment {

// A number with where it comes from. Without `number` it is a distribution or samples, or it could
// not be measured: `why`.
struct Item {
  std::optional<double> number = {};
  const Histogram *distribution = nullptr;
  SampleStore::Samples samples = {};
  double seconds = 0; // Counter: the time that the number covers
  std::string why = {};
  const ColumnRow *column = nullptr; // nullptr: computed from several
  RowKind row_kind = RowKind::Total;
  uint32_t row = 0;
  bool has_row = false;
};

// What was measured. Refers to what it is made of.
class ExpressionValues {
public:
  ExpressionValues(const Subject &subject, const ExperimentMeasurement &measured,
                   const ExperimentPrediction &prediction, const SampleStore &samples)
      : subject_(subject), measured_(measured), prediction_(prediction), samples_(samples) {}

  Item number(const Node &node) const;
  const std::string &name_of(RowKind kind, size_t row) const;

  uint32_t own = 0; // the row of the enclosing all(), any() or none()

private:
  // One for each row.
  std::vector<Item> items(const Node &node) const;
  Item arithmetic(const Node &node) const;
  std::vector<Item> columns(const Node &node) const;
  Cell cell_of(const ColumnRow &column, RowKind kind, uint32_t row) const;
  Item column(const Node &node, uint32_t row) const;
  void window(const Node &node, const FoundColumn &found, Item &item) const;
  std::vector<Item> reduce(const Node &node) const;

  const Subject &subject_;
  const ExperimentMeasurement &measured_;
  const ExperimentPrediction &prediction_;
  const SampleStore &samples_;
};

} // namespace xr::experiment
