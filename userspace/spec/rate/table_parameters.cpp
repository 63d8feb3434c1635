// SPDX-License-Identifier: Apache-2.0
#include "rate/table_parameters.h"

#include <utility>

namespace xr::congestion {

TableParameters::TableParameters(std::span<const ParameterRow> rows) : rows_(rows) {
  values_.reserve(rows.size());
  for (const ParameterRow &row : rows)
    values_.push_back(row.defaults.front().quantity);
}

std::string TableParameters::words() const {
  return assignments(rows_, values_, TableParameters(rows_).values_);
}

ParameterRow parameter_row(const RowText &text, std::vector<Unit> units, double least, double most,
                           double value, bool assumed) {
  const Quantity quantity{value, units.front()};
  return {text.name,
          text.symbol,
          std::move(units),
          least,
          most,
          text.meaning,
          {},
          {{quantity, text.source, assumed}}};
}

double rate_bits(const Quantity &q, double line_bits) {
  return q.unit == Unit::LinePercent ? line_bits * q.value / 100 : q.value * 1e6;
}

} // namespace xr::congestion
