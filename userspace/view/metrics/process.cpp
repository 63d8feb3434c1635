// SPDX-License-Identifier: Apache-2.0
#include "metrics/process.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include <unistd.h>

namespace xr::metrics {

namespace {

// Fields of /proc/PID/stat (proc(5)), counted from the third, the state.
enum StatField { kUserTicks = 11, kSystemTicks = 12, kStartTicks = 19, kVirtual = 20, kPages = 21 };

std::vector<double> stat_fields(const std::string &path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = text.rfind(')'); // the name may contain any character
  if (name_end == std::string::npos)
    return {};
  std::istringstream rest(text.substr(name_end + 1));
  std::string state;
  rest >> state;
  std::vector<double> fields = {0};
  for (double field = 0; rest >> field;)
    fields.push_back(field);
  return fields;
}

// The first number after `words` at the beginning of a line.
std::optional<double> line_number(const std::string &path, const std::string &words) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(words)) {
      std::istringstream rest(line.substr(words.size()));
      if (double value = 0; rest >> value)
        return value;
    }
  return {};
}

} // namespace

void add_process(Families &to, const std::string &proc) {
  const std::string self = proc + "/self/";
  const auto fields = stat_fields(self + "stat");
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (fields.size() > kPages) {
    to.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", {},
               (fields[kUserTicks] + fields[kSystemTicks]) / ticks);
    to.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", {}, fields[kVirtual]);
    to.gauge("process_resident_memory_bytes", "Resident memory size in bytes.", {},
             fields[kPages] * static_cast<double>(sysconf(_SC_PAGESIZE)));
    if (const auto boot = line_number(proc + "/stat", "btime"))
      to.gauge("process_start_time_seconds",
               "Start time of the process since unix epoch in seconds.", {},
               *boot + fields[kStartTicks] / ticks);
  }
  std::error_code error;
  const std::filesystem::directory_iterator fds(self + "fd", error);
  if (!error)
    to.gauge("process_open_fds", "Number of open file descriptors.", {},
             static_cast<double>(std::distance(fds, {})));
  if (const auto most = line_number(self + "limits", "Max open files"))
    to.gauge("process_max_fds", "Maximum number of open file descriptors.", {}, *most);
}

} // namespace xr::metrics
