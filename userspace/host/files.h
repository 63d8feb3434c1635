// SPDX-License-Identifier: Apache-2.0
// Files of /proc, /sys and /boot, or of a tree that stands for them. Nothing is what cannot be
// read, for whatever reason: of such files most have some that no driver answers for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace xr::host {

class Files {
public:
  explicit Files(std::string root = "") : root_(std::move(root)) {}

  bool of_this_machine() const { return root_.empty(); }
  bool exist(const std::string &path) const;
  // The first line.
  std::optional<std::string> line(const std::string &path) const;
  std::optional<uint64_t> number(const std::string &path) const;
  // All of it, also of a gzipped file.
  std::optional<std::string> text(const std::string &path) const;
  // The names in a directory, in order; numbers by their value.
  std::vector<std::string> list(const std::string &path) const;
  // The last part of what a symbolic link points to.
  std::optional<std::string> link(const std::string &path) const;

  Status write(const std::string &path, const std::string &text) const;
  Status make_directory(const std::string &path) const;

private:
  std::string at(const std::string &path) const { return root_ + path; }
  std::string root_;
};

} // namespace xr::host
