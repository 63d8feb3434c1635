// SPDX-License-Identifier: Apache-2.0
// A directory for files that only this process needs, removed with the object. After a kill -9 the
// next one to be made removes it.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace xr::record {

class ScratchDirectory {
public:
  // Below the directory for temporary files ($TMPDIR).
  static Result<ScratchDirectory> make();
  ScratchDirectory(ScratchDirectory &&other) noexcept : path_(std::exchange(other.path_, "")) {}
  ~ScratchDirectory();

  const std::string &path() const { return path_; }

private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

} // namespace xr::record
