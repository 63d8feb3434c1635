// SPDX-License-Identifier: Apache-2.0
#include "places/process_name.h"

#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>

namespace xr::places {

namespace {

constexpr unsigned kStartField = 22; // of /proc/PID/stat, proc(5)

// When the process started, in clock ticks since boot; none: there is no such process.
std::optional<uint64_t> start_of(long pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text))
    return {};
  const size_t name_end = text.rfind(')'); // field 2 may have spaces
  if (name_end == std::string::npos)
    return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (unsigned i = 3; i <= kStartField; i++)
    if (!(fields >> field))
      return {};
  return std::stoull(field);
}

// Reads a number and the dash after it; `at` is then at what follows.
bool take_number(const char *&at, const char *end, auto &number) {
  const auto [rest, error] = std::from_chars(at, end, number);
  if (error != std::errc() || rest == end || *rest != '-')
    return false;
  at = rest + 1;
  return true;
}

} // namespace

std::string own_process_name() {
  return fmt::format("{}-{}", getpid(), start_of(getpid()).value_or(0));
}

bool names_ended_process(const std::string &text) {
  const char *at = text.data(), *end = at + text.size();
  long pid = 0;
  uint64_t start = 0;
  if (!take_number(at, end, pid) || !take_number(at, end, start))
    return false;
  const auto now = start_of(pid);
  return !now || *now != start;
}

} // namespace xr::places
