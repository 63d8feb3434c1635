// SPDX-License-Identifier: Apache-2.0
#include "report/run_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shell.h"
#include "names/names.h"
#include "report/cells.h"

namespace xr::report {

namespace {

Table files_table(const std::vector<RunFacts::File> &files) {
  std::vector<std::vector<Value>> rows;
  for (const RunFacts::File &file : files)
    rows.push_back({file.name, maybe(file.bytes), known(file.sha256)});
  return make_table({{"name", ""}, {"bytes", ""}, {"sha256", ""}}, std::move(rows));
}

Table ports_of(const std::vector<RunFacts::Port> &ports) {
  std::vector<std::vector<Value>> rows;
  for (const RunFacts::Port &port : ports)
    rows.push_back({port.name, known(port.driver), port.mac, uint64_t{port.mtu},
                    known(port.speed_bps), port.offloads});
  return make_table(
      {{"name", ""}, {"driver", ""}, {"mac", ""}, {"mtu", ""}, {"speed_bps", ""}, {"offloads", ""}},
      std::move(rows));
}

// The argument quoted for a shell.
std::string command_of(const std::vector<std::string> &words) {
  std::string line;
  for (const std::string &word : words)
    line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

} // namespace

Section run_section(const RunFacts &facts) {
  const auto field = [](const char *key, Value value) {
    return Field{{key, ""}, std::move(value)};
  };
  Nested nested{.group = {field("command_line", StringList(facts.command_line)),
                          field("host", known(facts.host)), field("kernel", known(facts.kernel)),
                          field("machine", known(facts.machine)), field("version", facts.version),
                          field("commit", known(facts.commit)), field("libbpf", facts.libbpf),
                          field("libxdp", facts.libxdp),
                          field("start", names::utc_time(facts.start_ns)),
                          field("duration_ns", facts.duration_ns), field("clock", facts.clock),
                          field("seed", maybe(facts.seed))},
                .key = "files",
                .table = files_table(facts.files)};
  nested.more.emplace_back("ports", ports_of(facts.ports));
  return {"run", "", std::move(nested), Where::Json};
}

std::vector<std::pair<std::string, std::string>> run_lines(const RunFacts &facts) {
  std::vector<std::pair<std::string, std::string>> lines = {
      {"command line", command_of(facts.command_line)},
      {"host", fmt::format("{}, Linux {}, {}", facts.host, facts.kernel, facts.machine)}};
  for (const RunFacts::Port &port : facts.ports)
    lines.emplace_back(
        "port " + port.name,
        fmt::format(
            "{}, MAC {}, MTU {}{}; offloads on: {}",
            port.driver.empty() ? "unknown driver" : port.driver, port.mac, port.mtu,
            port.speed_bps ? fmt::format(", {:g} Gbit/s", static_cast<double>(port.speed_bps) / 1e9)
                           : "",
            port.offloads.empty() ? "none" : fmt::format("{}", fmt::join(port.offloads, ", "))));
  lines.emplace_back("start", names::utc_time(facts.start_ns));
  lines.emplace_back("duration",
                     fmt::format("{:.3g} s", static_cast<double>(facts.duration_ns) / 1e9));
  lines.emplace_back("clock of the times", facts.clock);
  if (facts.seed)
    lines.emplace_back("seed", std::to_string(*facts.seed));
  for (const RunFacts::File &file : facts.files)
    lines.emplace_back("file " + file.name,
                       (file.bytes ? fmt::format("{} bytes", *file.bytes) : "cannot be read") +
                           (file.sha256.empty() ? "" : ", SHA-256 " + file.sha256));
  lines.emplace_back("xdp-roce", facts.commit.empty()
                                     ? facts.version
                                     : fmt::format("{}, commit {}", facts.version, facts.commit));
  lines.emplace_back("libbpf, libxdp", fmt::format("{}, {}", facts.libbpf, facts.libxdp));
  return lines;
}

} // namespace xr::report
