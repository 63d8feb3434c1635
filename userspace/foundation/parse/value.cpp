// SPDX-License-Identifier: Apache-2.0
#include "parse/value.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "parse/words.h"

namespace xr::parse {

namespace {

// One unit. Canonical text uses the first printed unit that divides the value.
struct Unit {
  std::string_view name; // canonical spelling; input is compared in lower case
  uint64_t factor;
  bool printed = false;
};

constexpr Unit kDurations[] = {
    {"m", 60'000'000'000, true},
    {"s", 1'000'000'000, true},
    {"ms", 1'000'000, true},
    {"us", 1'000, true},
    {"ns", 1, true},
    {"min", 60'000'000'000},
    {"sec", 1'000'000'000},
    {"secs", 1'000'000'000},
    {"msec", 1'000'000},
    {"msecs", 1'000'000},
    {"usec", 1'000},
    {"usecs", 1'000},
    {"nsec", 1},
    {"nsecs", 1},
    {"h", 3'600'000'000'000},
};

constexpr Unit kBytes[] = {
    {"G", 1'000'000'000, true},
    {"M", 1'000'000, true},
    {"k", 1'000, true},
    {"GiB", 1 << 30, true},
    {"MiB", 1 << 20, true},
    {"KiB", 1 << 10, true},
    {"", 1, true},
    {"b", 1},
    {"kb", 1'000},
    {"mb", 1'000'000},
    {"gb", 1'000'000'000},
    {"ki", 1 << 10},
    {"mi", 1 << 20},
    {"gi", 1 << 30},
};

constexpr Unit kRates[] = {
    {"tbit", 1'000'000'000'000, true},
    {"gbit", 1'000'000'000, true},
    {"mbit", 1'000'000, true},
    {"kbit", 1'000, true},
    {"bit", 1, true},
    {"", 1},
    {"t", 1'000'000'000'000},
    {"g", 1'000'000'000},
    {"m", 1'000'000},
    {"k", 1'000},
    {"tibit", 1ULL << 40},
    {"gibit", 1 << 30},
    {"mibit", 1 << 20},
    {"kibit", 1 << 10},
};

// In ns; less than 2^53, so that a double represents it exactly.
constexpr uint64_t kLongest = 100ULL * 24 * 3'600'000'000'000;
constexpr uint64_t kFastest = 10'000'000'000'000; // bits per second
constexpr uint64_t kMostBytes = UINT32_MAX;

std::optional<Number> number(const std::string &word) {
  Number n;
  if (!looks_like_number(word))
    return std::nullopt;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n.value);
  if (error != std::errc() || !std::isfinite(n.value))
    return std::nullopt;
  n.unit = lower(std::string_view(end, word.data() + word.size()));
  return n;
}

std::optional<uint64_t> scaled(const std::string &word, std::span<const Unit> units) {
  const auto n = number(word);
  if (!n)
    return std::nullopt;
  for (const Unit &unit : units)
    if (lower(unit.name) == n->unit) {
      const double value = std::round(n->value * static_cast<double>(unit.factor));
      if (value < 0)
        return std::nullopt;
      return value < 0x1p63 ? static_cast<uint64_t>(value) : UINT64_MAX;
    }
  return std::nullopt;
}

std::string scaled_text(uint64_t value, std::span<const Unit> units, std::string_view zero) {
  for (const Unit &unit : units)
    if (value && unit.printed && value % unit.factor == 0)
      return fmt::format("{}{}", value / unit.factor, unit.name);
  return std::string(zero);
}

} // namespace

bool looks_like_number(const std::string &word) {
  const auto digit = [&word](size_t at) {
    return at < word.size() && word[at] >= '0' && word[at] <= '9';
  };
  return digit(0) || (word.starts_with('.') && digit(1)) ||
         (word.starts_with('-') && (digit(1) || (word.starts_with("-.") && digit(2))));
}

std::string Number::text() const { return fmt::format("{}{}", value, unit); }

long double Probability::p() const {
  return static_cast<long double>(value) / (unit == "%" ? 100 : unit == "ppm" ? 1'000'000 : 1);
}

uint64_t Probability::fraction() const { return parse::fraction(p()); }

uint64_t fraction(long double p) {
  const long double scaled = std::round(std::ldexp(p, 64));
  return scaled >= 0x1p64L ? UINT64_MAX : static_cast<uint64_t>(scaled);
}

Result<Probability> probability(const std::string &word) {
  constexpr std::string_view kExpected = "a probability";
  constexpr std::string_view kHint = "from 0 to 1, like 0.01, 1e-6, 1% or 50ppm";
  const auto n = number(word);
  if (!n || (!n->unit.empty() && n->unit != "%" && n->unit != "ppm"))
    return wrong(word, kExpected, std::string(kHint));
  const Probability result{*n};
  if (std::signbit(n->value) || result.p() > 1)
    return wrong(word, kExpected, std::string(kHint));
  return result;
}

Result<double> real(const std::string &word, double from, double to) {
  const auto n = number(word);
  if (!n || !n->unit.empty() || n->value < from || n->value > to)
    return wrong(word, fmt::format("a number from {} to {}", from, to));
  return n->value;
}

Result<uint64_t> integer(const std::string &word, uint64_t from, uint64_t to,
                         std::string_view expected) {
  const bool hex = word.starts_with("0x") || word.starts_with("0X");
  const char *begin = word.data() + (hex ? 2 : 0), *end = word.data() + word.size();
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value, hex ? 16 : 10);
  if (error == std::errc() && stop == end && value >= from && value <= to)
    return value;
  if (to == UINT64_MAX)
    return wrong(word, fmt::format("{} from {} on", expected, from));
  return wrong(word, fmt::format("{} from {} to {}", expected, from, to));
}

Result<roce_range> range(const std::string &word, uint32_t from, uint32_t to,
                         std::string_view expected, Order order) {
  const size_t dash = word.find('-');
  const auto first = integer(word.substr(0, dash), from, to, expected);
  const auto last =
      dash == std::string::npos ? first : integer(word.substr(dash + 1), from, to, expected);
  if (!first || !last)
    return wrong(word,
                 fmt::format("{} from {} to {}, or two with a - between them", expected, from, to));
  const roce_range result{static_cast<uint32_t>(first.get()), static_cast<uint32_t>(last.get())};
  if (order == Order::Ascending && result.from > result.to)
    return Error{fmt::format("'{}' goes backwards", word),
                 fmt::format("{}-{}", word.substr(dash + 1), word.substr(0, dash))};
  return result;
}

std::string range_text(const roce_range &range) {
  return range.from == range.to ? fmt::format("{}", range.from)
                                : fmt::format("{}-{}", range.from, range.to);
}

std::string hex_range_text(const roce_range &range) {
  return range.from == range.to ? fmt::format("{:#x}", range.from)
                                : fmt::format("{:#x}-{:#x}", range.from, range.to);
}

Result<uint64_t> duration(const std::string &word) {
  const auto ns = scaled(word, kDurations);
  if (!ns || *ns > kLongest)
    return wrong(word, "a duration", "a number with its unit, like 10us, 5ms, 2s or 1m");
  return *ns;
}

Result<uint64_t> duration_above_0(const std::string &word, const char *hint) {
  auto ns = duration(word);
  if (ns && !ns.get())
    return wrong(word, "a duration above 0", hint);
  return ns;
}

std::string duration_text(uint64_t ns) { return scaled_text(ns, kDurations, "0s"); }

Result<uint64_t> byte_count(const std::string &word, uint64_t from) {
  const auto bytes = scaled(word, kBytes);
  if (!bytes || *bytes < from || *bytes > kMostBytes)
    return wrong(word, fmt::format("a number of bytes from {} to {}", from, kMostBytes),
                 "like 1500, 5k, 200KB, 1M or 64KiB");
  return *bytes;
}

std::string byte_text(uint64_t bytes) { return scaled_text(bytes, kBytes, "0"); }

Result<uint64_t> rate(const std::string &word, uint64_t from) {
  const auto bits = scaled(word, kRates);
  if (lower(word).ends_with("bps"))
    return wrong(word, "a rate in bits per second", "bps is bytes to tc: write 10gbit, 500mbit");
  if (!bits || *bits < from || *bits > kFastest)
    return wrong(word, fmt::format("a rate from {} to {}", rate_text(from), rate_text(kFastest)),
                 "bits per second, like 10gbit or 500mbit");
  return *bits;
}

std::string rate_text(uint64_t bits) { return scaled_text(bits, kRates, "0"); }

std::optional<KnownUnit> known_unit(const std::string &unit) {
  constexpr std::pair<UnitKind, std::span<const Unit>> kKinds[] = {
      {UnitKind::Time, kDurations}, {UnitKind::Bytes, kBytes}, {UnitKind::Rate, kRates}};
  for (const bool exact : {true, false})
    for (const auto &[kind, units] : kKinds)
      for (const Unit &known : units)
        if (!unit.empty() && (exact ? known.name == unit : lower(known.name) == lower(unit)))
          return KnownUnit{kind, static_cast<double>(known.factor)};
  return std::nullopt;
}

} // namespace xr::parse
