// SPDX-License-Identifier: Apache-2.0
#include "datapath/pins.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <fmt/format.h>

namespace xr::datapath {

namespace fs = std::filesystem;

Pins::Pins(const Bpffs &bpffs, uint64_t netns, unsigned ifindex)
    : parent_(bpffs.pins()), directory_(fmt::format("{}/{}-{}", parent_, netns, ifindex)),
      netns_(netns), ifindex_(ifindex) {}

std::vector<Pins> Pins::list(const Bpffs &bpffs) {
  std::vector<Pins> found;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(bpffs.pins(), ignored)) {
    uint64_t netns = 0;
    unsigned ifindex = 0;
    int end = 0;
    std::string name = entry.path().filename();
    // NOLINTNEXTLINE(cert-err34-c): `end` shows whether the whole name was parsed
    if (sscanf(name.c_str(), "%" SCNu64 "-%u%n", &netns, &ifindex, &end) == 2 &&
        static_cast<size_t>(end) == name.size())
      found.emplace_back(bpffs, netns, ifindex);
  }
  std::sort(found.begin(), found.end(), [](const Pins &a, const Pins &b) {
    return a.netns_ != b.netns_ ? a.netns_ < b.netns_ : a.ifindex_ < b.ifindex_;
  });
  return found;
}

bool Pins::exist() const { return access(directory_.c_str(), F_OK) == 0; }

Status Pins::create(const PortName &name) const {
  // The detach of another port removes the parent while it is empty: then it is made again.
  constexpr int kAttempts = 100;
  for (int attempt = 1;; attempt++) {
    if (mkdir(parent_.c_str(), 0700) < 0 && errno != EEXIST)
      return errno_error(errno, fmt::format("cannot make {}", parent_));
    if (mkdir(directory_.c_str(), 0700) == 0 || errno == EEXIST)
      break;
    if (errno != ENOENT || attempt == kAttempts)
      return errno_error(errno, fmt::format("cannot make {}", directory_));
  }
  auto done = record("interface", name.ifname);
  return done ? record("netns", name.netns) : done;
}

Status Pins::record(const char *name, const std::string &text) const {
  const std::string link = path(name);
  if ((unlink(link.c_str()) < 0 && errno != ENOENT) ||
      (!text.empty() && symlink(text.c_str(), link.c_str()) < 0))
    return errno_error(errno, fmt::format("cannot write in {}", directory_));
  return {};
}

Status Pins::remove() const {
  std::error_code error;
  // List first: a directory must not change during its iteration.
  std::vector<fs::path> entries;
  for (const auto &entry : fs::directory_iterator(directory_, error))
    entries.push_back(entry.path());
  for (const auto &entry : entries)
    if (unlink(entry.c_str()) < 0 && errno != ENOENT)
      return errno_error(errno, fmt::format("cannot remove {}", entry.string()));
  if (rmdir(directory_.c_str()) < 0 && errno != ENOENT)
    return errno_error(errno, fmt::format("cannot remove {}", directory_));
  rmdir(parent_.c_str()); // succeeds only after the last attachment's pins
  return {};
}

std::vector<std::string> Pins::objects() const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(directory_, ignored))
    if (!entry.is_symlink(ignored))
      names.push_back(entry.path().filename());
  return names;
}

Fd Pins::open(const std::string &name) const { return Fd(bpf_obj_get(path(name).c_str())); }

// On takeover the program is renamed last: as long as its _next pin exists, a reader knows that the
// exchange is not finished.
Status Pins::settle_next(bool take_over) const {
  const std::string suffix = kNext, program = kProgram + suffix;
  std::vector<std::string> names = objects();
  std::stable_partition(names.begin(), names.end(),
                        [&](const std::string &name) { return (name == program) != take_over; });
  for (const std::string &name : names) {
    if (!name.ends_with(suffix))
      continue;
    std::string from = path(name), to = from.substr(0, from.size() - suffix.size());
    if ((take_over ? rename(from.c_str(), to.c_str()) : unlink(from.c_str())) < 0)
      return errno_error(errno, fmt::format("cannot move {}", from));
  }
  return {};
}

std::string Pins::recorded(const char *name) const {
  std::error_code error;
  fs::path target = fs::read_symlink(path(name), error);
  return error ? "" : target.string();
}

} // namespace xr::datapath
