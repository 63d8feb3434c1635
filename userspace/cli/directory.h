// SPDX-License-Identifier: Apache-2.0
// A directory for the captures of ports.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"

namespace xr::cli {

// A directory that goes with the object, unless it is the user's.
class Directory {
public:
  // `keep`: the user's directory; "": a temporary one.
  static Result<Directory> make(const std::string &keep) {
    Directory self;
    if (!keep.empty()) {
      self.path_ = keep;
      std::error_code error;
      std::filesystem::create_directories(keep, error);
      if (error)
        return errno_error(error.value(), fmt::format("cannot make the directory {}", keep));
      return self;
    }
    const char *base = getenv("TMPDIR");
    std::string name = std::string(base && *base ? base : "/tmp") + "/xdp-roce.XXXXXX";
    if (!mkdtemp(name.data()))
      return errno_error(errno, fmt::format("cannot make the directory {}", name));
    self.path_ = name;
    self.ours_ = true;
    return self;
  }
  Directory(Directory &&other) noexcept
      : path_(std::move(other.path_)), ours_(std::exchange(other.ours_, false)) {}
  ~Directory() {
    std::error_code ignored;
    if (ours_)
      std::filesystem::remove_all(path_, ignored);
  }
  const std::string &path() const { return path_; }

private:
  Directory() = default;
  std::string path_;
  bool ours_ = false;
};

} // namespace xr::cli
