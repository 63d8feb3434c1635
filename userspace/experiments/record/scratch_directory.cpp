// SPDX-License-Identifier: Apache-2.0
#include "record/scratch_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "places/process_name.h"

namespace xr::record {

namespace {

namespace fs = std::filesystem;

constexpr const char *kPrefix = "xr-run-"; // then PID-START-, as of the namespaces of a run

void remove_stale(const fs::path &in) {
  std::error_code error;
  for (fs::directory_iterator at(in, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (name.starts_with(kPrefix) && fs::is_directory(at->symlink_status(ignored)) &&
        places::names_ended_process(name.substr(std::char_traits<char>::length(kPrefix))))
      fs::remove_all(at->path(), ignored);
  }
}

} // namespace

Result<ScratchDirectory> ScratchDirectory::make() {
  std::error_code error;
  const fs::path in = fs::temp_directory_path(error);
  if (error)
    return Error{fmt::format("there is no directory for temporary files: {}", error.message()),
                 "--out DIR"};
  remove_stale(in);
  std::string path = (in / (kPrefix + places::own_process_name() + "-XXXXXX")).string();
  if (!mkdtemp(path.data()))
    return errno_error(errno, fmt::format("cannot make {}", path), "--out DIR");
  return ScratchDirectory(std::move(path));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty())
    std::filesystem::remove_all(path_, ignored);
}

} // namespace xr::record
