// SPDX-License-Identifier: Apache-2.0
#include "host/netns.h"

#include <exception>
#include <filesystem>

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <fmt/format.h>

namespace xr::host {

namespace fs = std::filesystem;

namespace {

uint64_t inode_of(const fs::path &path) {
  struct stat st {};
  return stat(path.c_str(), &st) == 0 ? st.st_ino : 0;
}

} // namespace

NetnsScope::~NetnsScope() {
  // In an unexpected namespace, later calls would attach to wrong interfaces.
  if (home_ && setns(home_.get(), CLONE_NEWNET) < 0)
    std::terminate();
}

std::optional<Netns> Netns::at(const std::string &path, const std::string &name) {
  Netns netns;
  struct statfs kind {};
  netns.fd_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // The file of a half-deleted namespace is an empty regular file.
  if (!netns.fd_ || fstatfs(netns.fd_.get(), &kind) < 0 || kind.f_type != NSFS_MAGIC)
    return {};
  struct stat st {};
  if (fstat(netns.fd_.get(), &st) < 0)
    return {};
  netns.inode_ = st.st_ino;
  netns.name_ = name;
  return netns;
}

Result<Netns> Netns::open(const std::string &name) {
  if (name.empty()) {
    auto own = at(kOwnNetns, "");
    if (!own)
      return Error{"cannot read this process's network namespace", "is /proc mounted?"};
    return std::move(*own);
  }
  auto netns = name.find('/') == std::string::npos
                   ? at(fmt::format("{}/{}", kNamedNetns, name), name)
                   : std::nullopt;
  if (!netns)
    return Error{fmt::format("no such network namespace: {}", name),
                 "`ip netns` lists them by name"};
  return std::move(*netns);
}

std::optional<Netns> Netns::find(uint64_t inode) {
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(kNamedNetns, ignored))
    if (inode_of(entry.path()) == inode)
      return at(entry.path(), entry.path().filename());
  if (inode_of(kOwnNetns) == inode)
    return at(kOwnNetns, "");
  for (const auto &entry : fs::directory_iterator("/proc", ignored)) {
    fs::path path = entry.path() / "ns/net";
    if (isdigit(static_cast<unsigned char>(entry.path().filename().c_str()[0])) &&
        inode_of(path) == inode)
      return at(path, "");
  }
  return {};
}

std::set<uint64_t> Netns::all() {
  std::set<uint64_t> inodes = {inode_of(kOwnNetns)};
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(kNamedNetns, ignored))
    inodes.insert(inode_of(entry.path()));
  for (const auto &entry : fs::directory_iterator("/proc", ignored))
    if (isdigit(static_cast<unsigned char>(entry.path().filename().c_str()[0])))
      inodes.insert(inode_of(entry.path() / "ns/net"));
  return inodes;
}

Result<NetnsScope> Netns::enter() const {
  if (inode_of(kOwnNetns) == inode_)
    return NetnsScope();
  Fd home(::open(kOwnNetns, O_RDONLY | O_CLOEXEC));
  if (!home)
    return errno_error(errno, "cannot read this process's network namespace", "is /proc mounted?");
  if (setns(fd_.get(), CLONE_NEWNET) < 0) {
    if (errno == EPERM)
      return Error{fmt::format("no privilege to enter network namespace {}: CAP_SYS_ADMIN missing",
                               name_.empty() ? std::to_string(inode_) : name_),
                   "run it as root"};
    return errno_error(errno, fmt::format("cannot enter network namespace {}", name_));
  }
  return NetnsScope(std::move(home));
}

Error no_such_interface(const std::string &netns) {
  return {"no such interface", netns.empty()
                                   ? "`ip link` lists them; --netns NAME looks in a namespace"
                                   : fmt::format("`ip -n {} link` lists them", netns)};
}

Result<NetnsScope> enter_netns(const std::string &name) {
  auto netns = XR_TRY(Netns::open(name));
  return netns.enter();
}

} // namespace xr::host
