// SPDX-License-Identifier: Apache-2.0
#include "results/files.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>

#include <fmt/format.h>

namespace xr::record {

namespace {

Error cannot_write(const std::string &path) {
  return errno_error(errno, fmt::format("cannot write {}", path));
}

} // namespace

Status make_directory(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Status(Error{fmt::format("cannot make {}: {}", path, error.message())}) : Status();
}

Result<Fd> own_directory(const std::string &path, bool shared) {
  XR_TRY(make_directory(path));
  Fd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory)
    return errno_error(errno, fmt::format("cannot open {}", path));
  // File systems without locks have no owner.
  if (flock(directory.get(), (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0 && errno == EWOULDBLOCK)
    return Error{fmt::format("{}: another run writes into it", path),
                 "wait for its end, or another --out"};
  return directory;
}

Status write_whole(const std::string &path, const std::string &text) {
  return write_whole(path, [&text](std::ostream &file) {
    file << text;
    return Status();
  });
}

Status write_whole(const std::string &path, const std::function<Status(std::ostream &)> &write) {
  const std::string part = path + ".part";
  errno = 0;
  std::ofstream file(part, std::ios::binary);
  XR_TRY(write(file));
  file.close();
  if (!file)
    return cannot_write(path);
  if (rename(part.c_str(), path.c_str()) < 0)
    return cannot_write(path);
  return {};
}

} // namespace xr::record
