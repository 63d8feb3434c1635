// SPDX-License-Identifier: Apache-2.0
// Files of /proc, /sys and /boot, or of a copy of them for tests. A file that cannot be read is
// nullopt without an error: many of these files exist only for some drivers.
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
  // First line.
  std::optional<std::string> line(const std::string &path) const;
  std::optional<uint64_t> number(const std::string &path) const;
  // Whole file; gzipped files are unpacked.
  std::optional<std::string> text(const std::string &path) const;
  // Names in a directory, sorted; numbers by value.
  std::vector<std::string> list(const std::string &path) const;
  // Last component of the target of a symbolic link.
  std::optional<std::string> link(const std::string &path) const;

  Status write(const std::string &path, const std::string &text) const;
  Status make_directory(const std::string &path) const;

private:
  std::string at(const std::string &path) const { return root_ + path; }
  std::string root_;
};

} // namespace xr::host
