// SPDX-License-Identifier: Apache-2.0
#include "base/processors.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <sched.h>

namespace xr {

namespace {

constexpr size_t kMostProcessors = 8192; // of Linux

std::string read_text(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "200000 100000": microseconds of each period, which `period` has where the text has one word.
std::optional<double> quota(const std::string &text, const std::string &period) {
  std::istringstream words(text + " " + period);
  double time = 0, of = 0;
  if (words >> time >> of && time > 0 && of > 0)
    return time / of;
  return std::nullopt; // "max", or -1
}

// Without a file: a group of another namespace, or the root.
std::optional<double> quota_of(const std::string &directory) {
  if (const auto found = quota(read_text(directory + "/cpu.max"), ""))
    return found;
  return quota(read_text(directory + "/cpu.cfs_quota_us"),
               read_text(directory + "/cpu.cfs_period_us"));
}

bool has_cpu(const std::string &controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

} // namespace

std::vector<uint32_t> allowed_processors() {
  std::vector<uint32_t> all;
  cpu_set_t *set = CPU_ALLOC(kMostProcessors);
  const size_t size = CPU_ALLOC_SIZE(kMostProcessors);
  if (sched_getaffinity(0, size, set) == 0)
    for (uint32_t i = 0; i < kMostProcessors; i++)
      if (CPU_ISSET_S(i, size, set))
        all.push_back(i);
  CPU_FREE(set);
  return all;
}

std::optional<double> granted_processors(const std::string &groups, const std::string &root) {
  std::optional<double> least;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) { // "4:cpu,cpuacct:/a/b", "0::/a/b"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !has_cpu(controllers))
      continue;
    std::string mount = root;
    if (!controllers.empty())
      mount.append("/").append(controllers);
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (path == "/")
        path.clear();
      if (const auto granted = quota_of(mount + path))
        least = std::min(least.value_or(*granted), *granted);
      if (path.find('/') == std::string::npos)
        break;
    }
  }
  return least;
}

uint32_t processor_count() {
  static const auto granted = granted_processors(read_text("/proc/self/cgroup"), "/sys/fs/cgroup");
  const auto allowed = static_cast<double>(allowed_processors().size());
  const double most = granted ? std::min(allowed, std::ceil(*granted)) : allowed;
  return static_cast<uint32_t>(std::max(1.0, most));
}

Result<std::vector<uint32_t>> parse_processors(const std::string &text) {
  std::vector<uint32_t> all;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    uint32_t first = 0, last = 0;
    const char *const end = part.data() + part.size();
    auto read = std::from_chars(part.data(), end, first);
    last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || read.ptr != end || last < first || last >= kMostProcessors)
      return Error{fmt::format("'{}' is no list of processors", text), "such as 2 or 0-3,8"};
    for (uint32_t i = first; i <= last; i++)
      if (std::ranges::find(all, i) == all.end())
        all.push_back(i);
  }
  if (all.empty() || text.ends_with(','))
    return Error{fmt::format("'{}' is no list of processors", text), "such as 2 or 0-3,8"};
  return all;
}

Status stay_on(uint32_t processor) {
  cpu_set_t *set = CPU_ALLOC(kMostProcessors);
  const size_t size = CPU_ALLOC_SIZE(kMostProcessors);
  CPU_ZERO_S(size, set);
  CPU_SET_S(processor, size, set);
  const int failed = sched_setaffinity(0, size, set) < 0 ? errno : 0;
  CPU_FREE(set);
  return failed ? errno_error(failed, fmt::format("cannot stay on processor {}", processor))
                : Status();
}

} // namespace xr
