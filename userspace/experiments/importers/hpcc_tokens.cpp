// SPDX-License-Identifier: Apache-2.0
#include "importers/hpcc_tokens.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "parse/value.h"
#include "parse/words.h"

namespace xr::importers {

namespace {

constexpr double kMost = 1e18; // bit/s, ns

struct Unit {
  std::string_view name;
  double factor;
};

// The number before the unit, which begins at `unit`.
Result<double> scaled(const std::string &word, size_t unit, double factor, const Error &error) {
  const auto value = parse::real(word.substr(0, unit), 0, kMost);
  if (!value || value.get() * factor > kMost)
    return error;
  return value.get() * factor;
}

size_t unit_at(const std::string &word) {
  size_t at = 0;
  while (at < word.size() &&
         (std::string_view("0123456789.+-").find(word[at]) != std::string::npos ||
          (at && word[at] == 'e' && at + 1 < word.size() && word[at + 1] < 'a')))
    at++;
  return at;
}

} // namespace

HpccTokens::HpccTokens(std::string_view text, std::string name) : name_(std::move(name)) {
  constexpr std::string_view kBlank = " \t\r\f\v";
  unsigned line = 1;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n' || kBlank.find(text[at]) != std::string_view::npos) {
      line += text[at++] == '\n';
      continue;
    }
    const size_t end = std::min(text.find_first_of(" \t\r\f\v\n", at), text.size());
    tokens_.push_back({std::string(text.substr(at, end - at)), line});
    at = end;
  }
}

size_t HpccTokens::words_of_this_line() const {
  size_t end = at_;
  while (end < tokens_.size() && tokens_[end].line == tokens_[at_].line)
    end++;
  return end - at_;
}

bool HpccTokens::is_number(size_t after) const {
  return at_ + after < tokens_.size() && parse::real(tokens_[at_ + after].text, 0, kMost).ok();
}

Error HpccTokens::wrong(const std::string &what, std::string hint) const {
  const unsigned line = at_ ? tokens_[at_ - 1].line : 1;
  return {fmt::format("{}:{}: {}", name_, line, what), std::move(hint)};
}

Result<HpccTokens::Token> HpccTokens::take(std::string_view what) {
  if (done())
    return wrong(fmt::format("the file ends: {} is missing", what), "the file must be complete");
  return tokens_[at_++];
}

Result<uint64_t> HpccTokens::whole(std::string_view what, uint64_t from, uint64_t to) {
  const Token token = XR_TRY(take(what));
  auto value = parse::integer(token.text, from, to);
  if (!value)
    return wrong(
        fmt::format("{}: '{}' is not a whole number from {} to {}", what, token.text, from, to),
        "like 3");
  return value;
}

Result<double> HpccTokens::real(std::string_view what, double from, double to) {
  const Token token = XR_TRY(take(what));
  auto value = parse::real(token.text, from, to);
  if (!value)
    return wrong(fmt::format("{}: '{}' is not a number from {} to {}", what, token.text, from, to),
                 "like 0.5");
  return value;
}

Result<uint64_t> HpccTokens::rate(std::string_view what) {
  const Token token = XR_TRY(take(what));
  auto value = ns3_rate(token.text);
  if (!value)
    return wrong(fmt::format("{}: {}", what, value.error().message), value.error().hint);
  return value;
}

Result<uint64_t> ns3_rate(const std::string &word) {
  const Error error{fmt::format("'{}' is not a rate", word), "like 100Gbps or 50Mb/s"};
  const size_t at = unit_at(word);
  std::string unit = word.substr(at);
  if (unit.empty()) // bit/s
    unit = "bps";
  if (!unit.ends_with("ps") && !unit.ends_with("/s"))
    return error;
  unit.resize(unit.size() - 2);
  if (unit.empty() || (unit.back() != 'b' && unit.back() != 'B'))
    return error;
  double factor = unit.back() == 'B' ? 8 : 1;
  unit.pop_back();
  const bool binary = unit.size() == 2 && unit.back() == 'i';
  if (binary)
    unit.pop_back();
  constexpr std::string_view kPrefixes = "kMGT";
  if (unit == "K")
    unit = "k";
  if (unit.size() > 1 || (!unit.empty() && kPrefixes.find(unit) == std::string_view::npos))
    return error;
  if (!unit.empty())
    factor *= std::pow(binary ? 1024 : 1000, kPrefixes.find(unit) + 1);
  return static_cast<uint64_t>(std::llround(XR_TRY(scaled(word, at, factor, error))));
}

Result<uint64_t> ns3_time(const std::string &word) {
  const Error error{fmt::format("'{}' is not a time", word), "like 1000ns or 0.001ms"};
  constexpr Unit kUnits[] = {{"", 1e9},     {"s", 1e9},    {"ms", 1e6},  {"us", 1e3},
                             {"ns", 1},     {"ps", 1e-3},  {"fs", 1e-6}, {"min", 60e9},
                             {"h", 3.6e12}, {"d", 86.4e12}};
  const size_t at = unit_at(word);
  for (const Unit &unit : kUnits)
    if (std::string_view(word).substr(at) == unit.name)
      return static_cast<uint64_t>(std::llround(XR_TRY(scaled(word, at, unit.factor, error))));
  return error;
}

} // namespace xr::importers
