// SPDX-License-Identifier: Apache-2.0
#include "host/named_netns.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/fd.h"
#include "host/netns.h"

namespace xr::host {

namespace {

std::string path_of(const std::string &name) { return std::string(kNamedNetns) + "/" + name; }

// Like ip-netns(8): a name that is removed in one mount namespace goes in all.
Status share_directory() {
  if (mkdir(kNamedNetns, 0755) < 0 && errno != EEXIST)
    return errno_error(errno, fmt::format("cannot make {}", kNamedNetns));
  if (mount("", kNamedNetns, "none", MS_SHARED | MS_REC, nullptr) == 0)
    return {};
  if (errno != EINVAL || mount(kNamedNetns, kNamedNetns, "none", MS_BIND | MS_REC, nullptr) < 0 ||
      mount("", kNamedNetns, "none", MS_SHARED | MS_REC, nullptr) < 0)
    return errno_error(errno, fmt::format("cannot mount {}", kNamedNetns), "run it as root");
  return {};
}

// In a thread of its own, which ends in the new namespace.
Status make_here(const std::string &path) {
  if (unshare(CLONE_NEWNET) < 0)
    return errno_error(errno, "cannot make a network namespace", "run it as root");
  for (const char *which : {"all", "default"})
    std::ofstream(fmt::format("/proc/sys/net/ipv6/conf/{}/disable_ipv6", which)) << "1\n";
  if (mount(kOwnNetns, path.c_str(), "none", MS_BIND, nullptr) < 0)
    return errno_error(errno, fmt::format("cannot mount {}", path));
  return {};
}

} // namespace

std::vector<std::string> netns_names() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(kNamedNetns, ignored))
    names.push_back(entry.path().filename());
  return names;
}

Status make_netns(const std::string &name) {
  if (Status s = share_directory(); !s)
    return s;
  const std::string path = path_of(name);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0));
  if (!file)
    return errno_error(errno, fmt::format("cannot make the network namespace {}", name));
  Status done;
  std::thread([&] { done = make_here(path); }).join();
  if (!done)
    unlink(path.c_str());
  return done;
}

Status remove_netns(const std::string &name) {
  const std::string path = path_of(name);
  umount2(path.c_str(), MNT_DETACH); // fails for the file of a half-made one
  if (unlink(path.c_str()) < 0 && errno != ENOENT)
    return errno_error(errno, fmt::format("cannot remove the network namespace {}", name));
  return {};
}

} // namespace xr::host
