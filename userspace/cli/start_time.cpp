// SPDX-License-Identifier: Apache-2.0
#include "cli/start_time.h"

#include <ctime>

#include <fmt/chrono.h>

#include "parse/value.h"

namespace xr::cli {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kDigits = 9;

Error not_a_time(const std::string &text) {
  return {fmt::format("'{}' is not a time", text), "like 2026-11-23T12:00:30Z, UTC, or +20s"};
}

// ".25" -> ns; "" -> 0.
Result<uint64_t> fraction(const std::string &text, const std::string &whole) {
  if (text.empty())
    return uint64_t{0};
  std::string digits = text.substr(1);
  if (text[0] != '.' || digits.empty() || digits.size() > kDigits ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return not_a_time(whole);
  digits.resize(kDigits, '0');
  return std::stoull(digits);
}

} // namespace

Result<uint64_t> parse_start(const std::string &text, uint64_t now_ns) {
  if (text.starts_with('+')) {
    const auto ns = XR_TRY(parse::duration(text.substr(1)));
    return now_ns + ns;
  }
  std::tm parts{};
  const char *rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!rest || !text.ends_with('Z'))
    return not_a_time(text);
  const std::string more = rest;
  auto part = fraction(more.substr(0, more.size() - 1), text);
  if (!part)
    return part;
  const uint64_t at = static_cast<uint64_t>(timegm(&parts)) * kSecond + part.get();
  if (at <= now_ns)
    return Error{fmt::format("{} has passed: it is {}", text, start_text(now_ns)),
                 "a later time; the clocks of all machines agree by NTP or PTP"};
  return at;
}

std::string start_text(uint64_t realtime_ns) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(static_cast<time_t>(realtime_ns / kSecond)));
}

} // namespace xr::cli
