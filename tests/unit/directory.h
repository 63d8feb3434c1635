// SPDX-License-Identifier: Apache-2.0
// A directory of its own for a test, removed with what is in it.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace xr::test {

class Directory {
public:
  Directory() {
    char path[] = "/tmp/xr-test-XXXXXX";
    path_ = mkdtemp(path);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory &) = delete;
  Directory &operator=(const Directory &) = delete;

  const std::string &path() const { return path_; }
  std::string file(const std::string &name) const { return path_ + "/" + name; }
  // Paths, sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path());
    std::ranges::sort(names);
    return names;
  }

private:
  std::string path_;
};

} // namespace xr::test
