// SPDX-License-Identifier: Apache-2.0
#include "sweep/merge.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "parse/yaml.h"

namespace xr::sweep {

namespace {

// Directories of points below one of a share, by name. None, if there were more shares than points.
Result<std::vector<std::string>> point_files(const std::string &directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(directory, error))
    if (const auto file = entry.path() / "point.json"; std::filesystem::exists(file, error))
      files.push_back(file.string());
  if (error && files.empty())
    return Error{fmt::format("cannot read {}: {}", directory, error.message())};
  if (files.empty() && !std::filesystem::exists(directory + "/sweep.json", error))
    return Error{fmt::format("{} has no point of a sweep", directory),
                 "a directory that `run FILE --out DIR` made"};
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

Result<MergedSweep> merge_sweep(const std::vector<std::string> &directories) {
  MergedSweep merged;
  std::map<uint64_t, SweepPoint> points;
  std::string run, first;
  uint64_t of = 0;
  for (const std::string &directory : directories) {
    auto files = XR_TRY(point_files(directory));
    for (const std::string &file : files) {
      auto text = XR_TRY(parse::read_file(file));
      auto stored = read_stored_point(text);
      if (!stored)
        return Error{fmt::format("{}: {}", file, stored.error().message)};
      if (run.empty()) {
        run = stored->point.run;
        first = file;
        of = stored->of;
        merged.name = stored->point.result.name;
      } else if (run != stored->point.run) {
        return Error{fmt::format("{} is of another sweep than {}", file, first),
                     "the same file, --set and version for all shares"};
      }
      stored->point.directory = std::filesystem::path(file).parent_path().string();
      if (const uint64_t number = stored->point.number;
          !points.try_emplace(number, std::move(stored->point)).second)
        merged.twice++;
    }
  }
  if (points.empty())
    return Error{"the directories have no point of a sweep", "name those of the other shares too"};
  for (uint64_t number = 1; number <= of; number++)
    if (!points.contains(number))
      merged.missing.push_back(number);
  for (auto &[number, point] : points)
    merged.points.push_back(std::move(point));
  return merged;
}

} // namespace xr::sweep
