// SPDX-License-Identifier: Apache-2.0
#include "rate/parameter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "parse/value.h"
#include "parse/words.h"

namespace xr::congestion {

namespace {

bool has(const ParameterRow &row, Unit unit) {
  return std::find(row.units.begin(), row.units.end(), unit) != row.units.end();
}

// Values that are exact in 1/1024 but long as a decimal are written as fractions: 1/256, 1023/1024.
std::string ratio_text(double value) {
  for (const double of : {16.0, 32.0, 64.0, 128.0, 256.0, 512.0})
    if (value * of == 1)
      return fmt::format("1/{:g}", of);
  const double part = value * 1024;
  const std::string decimal = fmt::format("{:g}", value);
  return part == std::floor(part) && decimal.size() > 6 ? fmt::format("{:g}/1024", part) : decimal;
}

std::string bytes_text(double bytes) {
  for (const auto &[unit, name] : {std::pair(1e6, "MB"), std::pair(1e3, "KB")})
    if (bytes > 0 && std::fmod(bytes, unit) == 0)
      return fmt::format("{:g} {}", bytes / unit, name);
  return fmt::format("{:.0f} B", bytes);
}

std::vector<std::string_view> names_of(const ParameterRow &row) {
  return {row.choices.begin(), row.choices.end()};
}

Result<double> plain(const std::string &word) { return parse::real(word, -1e300, 1e300); }

Result<Quantity> parse_ratio(const std::string &word) {
  const size_t slash = word.find('/');
  if (slash == std::string::npos) {
    const auto value = XR_TRY(plain(word));
    return Quantity{value, Unit::Ratio};
  }
  const auto up = plain(word.substr(0, slash)), down = plain(word.substr(slash + 1));
  if (!up || !down || !(down.get() > 0))
    return parse::wrong(word, "a part of 1", "like 0.5 or 1/256");
  return Quantity{up.get() / down.get(), Unit::Ratio};
}

Result<Quantity> parse_switch(const std::string &word) {
  const std::string low = parse::lower(word);
  if (low == "on" || low == "1")
    return Quantity{1, Unit::Switch};
  if (low == "off" || low == "0")
    return Quantity{0, Unit::Switch};
  return parse::wrong(word, "on or off");
}

bool ends_with(const std::string &word, std::string_view end) {
  return word.size() > end.size() && parse::lower(word).ends_with(end);
}

// A number whose suffix names its unit; a bare number has the row's first unit.
Result<Quantity> parse_number(const ParameterRow &row, const std::string &word) {
  if (const auto bare = plain(word))
    return Quantity{bare.get(), row.units.front()};
  if (ends_with(word, "%") && (has(row, Unit::LinePercent) || has(row, Unit::Percent))) {
    const auto value = plain(word.substr(0, word.size() - 1));
    if (value)
      return Quantity{value.get(), has(row, Unit::Percent) ? Unit::Percent : Unit::LinePercent};
  }
  if (ends_with(word, "mss") && has(row, Unit::Mss)) {
    const auto value = plain(word.substr(0, word.size() - 3));
    if (value)
      return Quantity{value.get(), Unit::Mss};
  }
  if (has(row, Unit::Mbit))
    if (const auto bits = parse::rate(word, 0)) // a step may be slower than any link
      return Quantity{static_cast<double>(bits.get()) / 1e6, Unit::Mbit};
  if (has(row, Unit::Microseconds) || has(row, Unit::LineTime))
    if (const auto ns = parse::duration(word))
      return Quantity{static_cast<double>(ns.get()) / 1e3,
                      has(row, Unit::Microseconds) ? Unit::Microseconds : Unit::LineTime};
  if (has(row, Unit::Bytes))
    if (const auto bytes = parse::byte_count(word, 0))
      return Quantity{static_cast<double>(bytes.get()), Unit::Bytes};
  return parse::wrong(word, "a number in " + unit_text(row));
}

} // namespace

std::string quantity_text(const ParameterRow &row, const Quantity &quantity) {
  const double v = quantity.value;
  switch (quantity.unit) {
  case Unit::Ratio:
    return ratio_text(v);
  case Unit::Percent:
    return fmt::format("{:g} %", v);
  case Unit::Microseconds:
    return fmt::format("{:g} us", v);
  case Unit::Bytes:
    return bytes_text(v);
  case Unit::LineTime:
    return fmt::format("{:g} us of line", v);
  case Unit::Mbit:
    return v > 0 && v < 1e-3 ? fmt::format("{:g} bit/s", v * 1e6) : fmt::format("{:g} Mbit/s", v);
  case Unit::LinePercent:
    return fmt::format("{:g} % of line", v);
  case Unit::Mss:
    return fmt::format("{:g} MSS", v);
  case Unit::Switch:
    return v != 0 ? "on" : "off";
  case Unit::Choice:
    return row.choices[static_cast<size_t>(v)];
  case Unit::Number:
    break;
  }
  return fmt::format("{:g}", v);
}

std::string quantity_word(const ParameterRow &row, const Quantity &quantity) {
  const double v = quantity.value;
  if (v == 0 && quantity.unit == row.units.front() && quantity.unit != Unit::Switch &&
      quantity.unit != Unit::Choice)
    return "0";
  switch (quantity.unit) {
  case Unit::Percent:
  case Unit::LinePercent:
    return fmt::format("{}%", v);
  case Unit::Microseconds:
  case Unit::LineTime:
    return fmt::format("{}us", v);
  case Unit::Mbit: // less than a kbit/s has no suffix of its own
    return v < 1e-3 ? fmt::format("{}", v) : fmt::format("{}mbit", v);
  case Unit::Mss:
    return fmt::format("{}mss", v);
  case Unit::Switch:
  case Unit::Choice:
    return quantity_text(row, quantity);
  case Unit::Ratio:
    return ratio_text(v) == fmt::format("{:g}", v) ? fmt::format("{}", v) : ratio_text(v);
  default:
    return fmt::format("{}", v);
  }
}

Result<Quantity> parse_quantity(const ParameterRow &row, const std::string &word) {
  Result<Quantity> quantity = Quantity{};
  switch (row.units.front()) {
  case Unit::Choice: {
    const auto at = XR_TRY(parse::choice(word, names_of(row), "one of its values"));
    return Quantity{static_cast<double>(at), Unit::Choice};
  }
  case Unit::Switch:
    return parse_switch(word);
  case Unit::Ratio:
    quantity = parse_ratio(word);
    if (!quantity && ends_with(word, "%")) // a part of 1 may be written in percent
      if (const auto percent = plain(word.substr(0, word.size() - 1)))
        quantity = Quantity{percent.get() / 100, Unit::Ratio};
    break;
  default:
    quantity = parse_number(row, word);
  }
  if (!quantity)
    return quantity;
  if (!(quantity->value >= row.least && quantity->value <= row.most))
    return Error{fmt::format("'{}' is outside {:g} to {:g}", word, row.least, row.most),
                 fmt::format("{}: {}, in {}", row.name, row.meaning, unit_text(row))};
  return quantity;
}

std::string unit_text(const ParameterRow &row) {
  if (row.units.front() == Unit::Choice)
    return fmt::format("{}", fmt::join(row.choices, "|"));
  std::string text;
  for (const Unit unit : row.units) {
    static constexpr const char *kNames[] = {"number", "part of 1",  "%",      "us",
                                             "bytes",  "us of line", "Mbit/s", "% of line",
                                             "MSS",    "on|off",     ""};
    text += (text.empty() ? "" : " or ") + std::string(kNames[static_cast<size_t>(unit)]);
  }
  return text;
}

namespace {

Result<size_t> index_of(std::span<const ParameterRow> rows, const std::string &name) {
  std::vector<std::string_view> names;
  for (const ParameterRow &row : rows)
    names.emplace_back(row.name);
  auto at = parse::choice(name, names, "a parameter");
  if (!at)
    return Error{fmt::format("'{}' is not a parameter", name), parse::hint_from(name, names)};
  return at;
}

} // namespace

Result<Assignment> parse_assignment(std::span<const ParameterRow> rows, const std::string &word) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const size_t at = XR_TRY(index_of(rows, name));
  const ParameterRow &row = rows[at];
  if (equals == std::string::npos)
    return Error{fmt::format("{} has no value", name),
                 fmt::format("{}=VALUE, in {}", name, unit_text(row))};
  auto value = parse_quantity(row, word.substr(equals + 1));
  if (!value)
    return Error{value.error().message,
                 value.error().hint.empty() ? row.meaning : value.error().hint}
        .in(name);
  return Assignment{at, value.get()};
}

Status ParameterSet::set(const std::string &word) {
  const auto made = XR_TRY(parse_assignment(rows(), word));
  quantities()[made.parameter] = made.quantity;
  return {};
}

Status ParameterSet::set(const std::string &name, const Quantity &quantity) {
  quantities()[XR_TRY(index_of(rows(), name))] = quantity;
  return {};
}

void ParameterSet::scale(double factor) {
  for (Quantity &quantity : quantities()) {
    if (quantity.unit == Unit::Mbit)
      quantity.value *= factor;
    if (quantity.unit == Unit::Microseconds || quantity.unit == Unit::LineTime)
      quantity.value /= factor;
  }
}

std::string assignments(std::span<const ParameterRow> rows, std::span<const Quantity> values,
                        std::span<const Quantity> plain) {
  std::string text;
  for (size_t i = 0; i < rows.size(); i++)
    if (values[i] != plain[i])
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", rows[i].name,
                          quantity_word(rows[i], values[i]));
  return text;
}

} // namespace xr::congestion
