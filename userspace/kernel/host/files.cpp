// SPDX-License-Identifier: Apache-2.0
#include "host/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <fmt/format.h>

#include "base/fd.h"

namespace xr::host {

namespace fs = std::filesystem;

namespace {

bool by_number(const std::string &a, const std::string &b) {
  const bool digits = !a.empty() && !b.empty() && isdigit(static_cast<unsigned char>(a[0])) &&
                      isdigit(static_cast<unsigned char>(b[0]));
  return digits && a.size() != b.size() ? a.size() < b.size() : a < b;
}

} // namespace

bool Files::exist(const std::string &path) const { return access(at(path).c_str(), F_OK) == 0; }

std::optional<std::string> Files::text(const std::string &path) const {
  constexpr size_t kMost = 16 << 20; // a kernel's configuration is 300 KB
  struct Close {
    void operator()(gzFile_s *file) const { gzclose(file); }
  };
  const std::unique_ptr<gzFile_s, Close> file(gzopen(at(path).c_str(), "rb"));
  std::array<char, 1 << 16> room{};
  std::string text;
  if (!file)
    return {};
  for (;;) {
    const int size = gzread(file.get(), room.data(), room.size());
    if (size < 0 || text.size() > kMost)
      return {};
    if (size == 0)
      return text;
    text.append(room.data(), static_cast<size_t>(size));
  }
}

std::optional<std::string> Files::line(const std::string &path) const {
  std::array<char, 4096> room{};
  const Fd fd(open(at(path).c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = fd ? read(fd.get(), room.data(), room.size()) : -1;
  if (size < 0)
    return {};
  const std::string text(room.data(), static_cast<size_t>(size));
  return text.substr(0, text.find('\n'));
}

std::optional<uint64_t> Files::number(const std::string &path) const {
  const auto text = line(path);
  uint64_t value = 0;
  if (!text)
    return {};
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size())
    return {};
  return value;
}

std::vector<std::string> Files::list(const std::string &path) const {
  std::error_code ignored;
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(at(path), ignored))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end(), by_number);
  return names;
}

std::optional<std::string> Files::link(const std::string &path) const {
  std::error_code failed;
  const fs::path target = fs::read_symlink(at(path), failed);
  if (failed)
    return {};
  return target.filename().string();
}

Status Files::write(const std::string &path, const std::string &text) const {
  const Fd fd(open(at(path).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!fd)
    return errno_error(errno, fmt::format("cannot open {}", at(path)));
  // A single write: the kernel takes each write as a complete value.
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return errno_error(errno, fmt::format("cannot write '{}' to {}", text, at(path)));
  return {};
}

Status Files::make_directory(const std::string &path) const {
  if (mkdir(at(path).c_str(), 0755) < 0 && errno != EEXIST)
    return errno_error(errno, fmt::format("cannot make {}", at(path)));
  return {};
}

} // namespace xr::host
