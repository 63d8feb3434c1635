// SPDX-License-Identifier: Apache-2.0
// Parameters of congestion control as tables: a row has the name, the unit, what it does, and for
// each preset its default with the source. Words, help, YAML and `cc show` are made from the rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::congestion {

enum class Unit : uint8_t {
  Number,
  Ratio,   // 0 to 1; also written as a fraction, like 1/256
  Percent, // of the rate before
  Microseconds,
  Bytes,
  LineTime,    // microseconds of the line's rate: a number of bytes that grows with the line
  Mbit,        // Mbit/s
  LinePercent, // of the line's rate
  Mss,         // one more MSS in each period of the rate timer: value x MSS x 8 / T bit/s
  Switch,      // 0 or 1
  Choice,      // an index into the row's choices
};

struct Quantity {
  double value = 0;
  Unit unit = Unit::Number;
  bool operator==(const Quantity &) const = default;
};

// A preset's default. `source` says where it was read. Assumed: the system leaves it open, and the
// value is the paper's, or, where `source` says so, another one.
struct Default {
  Quantity quantity;
  const char *source = "";
  bool assumed = true;
};

struct ParameterRow {
  const char *name;
  const char *symbol;      // in the papers, or ""
  std::vector<Unit> units; // that a value may be given in; the first is that of a bare number
  double least, most;      // limits of values (in any unit)
  const char *meaning;
  std::vector<const char *> choices; // of Unit::Choice
  std::vector<Default> defaults;     // by preset
};

// "40 Mbit/s", "1/256", "0.02 % of line", "on", "cut-first".
std::string quantity_text(const ParameterRow &row, const Quantity &quantity);
// The quantity as a word that parse_quantity() accepts.
std::string quantity_word(const ParameterRow &row, const Quantity &quantity);
Result<Quantity> parse_quantity(const ParameterRow &row, const std::string &word);
// The units of a row for people: "us", "Mbit/s or % of line", "on|off".
std::string unit_text(const ParameterRow &row);
// "NAME=VALUE", with the row's index; the error has a hint.
struct Assignment {
  size_t parameter;
  Quantity quantity;
};
Result<Assignment> parse_assignment(std::span<const ParameterRow> rows, const std::string &word);

// The parameters of one control: a value for each row of its table.
class ParameterSet {
public:
  virtual ~ParameterSet() = default;
  virtual std::span<const ParameterRow> rows() const = 0;
  virtual std::span<Quantity> quantities() = 0;
  virtual std::string words() const = 0; // what differs from the default; "" if nothing does
  Status set(const std::string &word);   // NAME=VALUE
  Status set(const std::string &name, const Quantity &quantity);
  // Rates times the factor, times divided by it. Parts of the line follow it; a time of the line is
  // a number of bytes.
  void scale(double factor);

protected:
  ParameterSet() = default;
  ParameterSet(const ParameterSet &) = default;
  ParameterSet &operator=(const ParameterSet &) = default;
};
// "NAME=VALUE ...": the values that are not `plain`.
std::string assignments(std::span<const ParameterRow> rows, std::span<const Quantity> values,
                        std::span<const Quantity> plain);

} // namespace xr::congestion
