// SPDX-License-Identifier: Apache-2.0
// Parameters of a control that has one preset: a value for each row of its table.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "rate/parameter.h"

namespace xr::congestion {

class TableParameters final : public ParameterSet {
public:
  TableParameters() = default; // of a control without parameters
  // The defaults. `rows` must outlive it.
  explicit TableParameters(std::span<const ParameterRow> rows);

  // `p`: the place of the row, as an enumeration of its table.
  template <class P> const Quantity &at(P p) const { return values_[static_cast<size_t>(p)]; }
  template <class P> double value(P p) const { return at(p).value; }
  std::span<const ParameterRow> rows() const override { return rows_; }
  std::span<Quantity> quantities() override { return values_; }
  std::string words() const override;

private:
  std::span<const ParameterRow> rows_;
  std::vector<Quantity> values_;
};

// Where defaults come from: files of HPCC's simulator.
inline constexpr const char *kHpccHw = "HPCC rdma-hw.cc", *kHpccRun = "HPCC run.py";

// A row with one default.
struct RowText {
  const char *name, *symbol, *meaning, *source;
};
ParameterRow parameter_row(const RowText &text, std::vector<Unit> units, double least, double most,
                           double value, bool assumed = false);

// bit/s of a quantity in Mbit/s or percent of the line.
double rate_bits(const Quantity &quantity, double line_bits);

} // namespace xr::congestion
