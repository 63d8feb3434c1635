// SPDX-License-Identifier: Apache-2.0
#include "job/files.h"

#include <array>

#include <fmt/format.h>

#include "job/chakra.h"
#include "job/goal.h"
#include "job/simai.h"
#include "parse/words.h"
#include "parse/yaml.h"

namespace xr::job {

namespace {

Result<Job> goal_file(const std::string &path, const std::string &name,
                      const JobFileOptions & /*options*/) {
  const std::string text = XR_TRY(parse::read_file(path));
  return read_goal(text, name).in(path);
}

Result<Job> chakra_files(const std::string &path, const std::string &name,
                         const JobFileOptions & /*options*/) {
  return read_chakra(path, name);
}

Result<Job> simai_file(const std::string &path, const std::string &name,
                       const JobFileOptions &options) {
  const std::string text = XR_TRY(parse::read_file(path));
  auto job = XR_TRY(read_simai(text, path, options)); // errors name the file
  job.name = name;
  return job;
}

struct Format {
  std::string_view name;
  Result<Job> (*read)(const std::string &path, const std::string &name,
                      const JobFileOptions &options);
};

constexpr std::array<Format, 3> kFormats = {{
    {"goal", goal_file},
    {"chakra", chakra_files},
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

Result<Job> read_job(std::string_view format, const std::string &path, const std::string &name,
                     const JobFileOptions &options) {
  if (options.first_layer && format != "simai")
    return Error{fmt::format("layers: {} has none", format), "of simai only"};
  for (const Format &row : kFormats)
    if (row.name == format)
      return row.read(path, name, options);
  return parse::wrong(std::string(format), "a format of jobs", "goal, chakra or simai");
}

Result<JobSize> measure_job(std::string_view format, const std::string &path,
                            const JobFileOptions &options) {
  if (format == "simai")
    return measure_simai(XR_TRY(parse::read_file(path)), path, options);
  const Job job = XR_TRY(read_job(format, path, std::string(format), options));
  return JobSize{.ranks = static_cast<uint32_t>(job.hosts.size()),
                 .operations = job.operations.size(),
                 .part = {}};
}

} // namespace xr::job
