// SPDX-License-Identifier: Apache-2.0
#include "job/files.h"

#include <array>

#include "job/chakra.h"
#include "job/goal.h"
#include "job/simai.h"
#include "parse/words.h"
#include "parse/yaml.h"

namespace xr::job {

namespace {

Result<Job> goal_file(const std::string &path, const std::string &name) {
  const std::string text = XR_TRY(parse::read_file(path));
  return read_goal(text, name).in(path);
}

Result<Job> simai_file(const std::string &path, const std::string &name) {
  const std::string text = XR_TRY(parse::read_file(path));
  auto job = XR_TRY(read_simai(text, path)); // errors name the file
  job.name = name;
  return job;
}

struct Format {
  std::string_view name;
  Result<Job> (*read)(const std::string &path, const std::string &name);
};

constexpr std::array<Format, 3> kFormats = {{
    {"goal", goal_file},
    {"chakra", read_chakra},
    {"simai", simai_file},
}};

} // namespace

std::vector<std::string_view> file_formats() {
  std::vector<std::string_view> names;
  names.reserve(kFormats.size());
  for (const Format &format : kFormats)
    names.push_back(format.name);
  return names;
}

Result<Job> read_job(std::string_view format, const std::string &path, const std::string &name) {
  for (const Format &row : kFormats)
    if (row.name == format)
      return row.read(path, name);
  return parse::wrong(std::string(format), "a format of jobs", "goal, chakra or simai");
}

} // namespace xr::job
