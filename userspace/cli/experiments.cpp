// SPDX-License-Identifier: Apache-2.0
#include "cli/experiments.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "cli/output.h"
#include "parse/words.h"

namespace xr::cli {

namespace {

namespace fs = std::filesystem;

// PREFIX/sbin/xdp-roce -> PREFIX/share/xdp-roce/experiments. A build directory has the same layout.
fs::path directory() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "share/xdp-roce/experiments";
}

// Not the name of an installed experiment, whether the file is there or not.
bool is_file_name(const std::string &name) {
  return fs::path(name).has_parent_path() || fs::path(name).has_extension();
}

// The first sentence of the comment at the top, without the licence.
std::string about_of(const fs::path &path) {
  std::ifstream file(path);
  std::string line, text;
  while (std::getline(file, line) && line.starts_with("#")) {
    if (line.find("SPDX") != std::string::npos)
      continue;
    text += (text.empty() ? "" : " ") +
            line.substr(std::min(line.find_first_not_of("# "), line.size()));
    if (const size_t end = text.find(". "); end != std::string::npos)
      return text.substr(0, end);
    if (text.ends_with('.'))
      return text.substr(0, text.size() - 1);
  }
  return text;
}

} // namespace

Result<std::vector<report::ExperimentEntry>> installed_experiments() {
  std::vector<report::ExperimentEntry> entries;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(directory(), error))
    if (entry.path().extension() == ".yaml")
      entries.push_back({entry.path().stem().string(), about_of(entry.path()),
                         entry.path().lexically_normal().string()});
  if (error)
    return Error{
        fmt::format("cannot read {}: {}", directory().lexically_normal().string(), error.message()),
        "run FILE takes any file"};
  std::sort(entries.begin(), entries.end(),
            [](const auto &a, const auto &b) { return a.name < b.name; });
  return entries;
}

Result<std::string> find_experiment(const std::string &name) {
  std::error_code error;
  const bool there = name == "-" || fs::exists(name, error);
  // A bare word is an installed experiment first, whatever else has that name here.
  if (name == "-" || (there && is_file_name(name)))
    return name;
  const auto entries = installed_experiments();
  std::vector<std::string_view> names;
  if (entries)
    for (const report::ExperimentEntry &entry : entries.get()) {
      if (entry.name == name) {
        if (there)
          note("run", fmt::format("runs the installed experiment '{0}', not ./{0}", name));
        return entry.path;
      }
      names.emplace_back(entry.name);
    }
  if (there)
    return name;
  names.insert(names.end(), {"merge", "compare"});
  const std::string near = parse::nearest(name, names);
  const Error unknown{fmt::format("there is no file and no installed experiment '{}'", name),
                      near.empty() ? "xdp-roce run --list" : fmt::format("did you mean {}?", near)};
  return is_file_name(name) ? unknown : unknown.as_usage();
}

} // namespace xr::cli
