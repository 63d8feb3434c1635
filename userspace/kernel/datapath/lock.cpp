// SPDX-License-Identifier: Apache-2.0
#include "datapath/lock.h"

#include <atomic>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "host/netns.h"

namespace xr::datapath {

namespace {

constexpr const char *kFile = "/run/xdp-roce/lock";

std::atomic<unsigned> held_for_threads = 0; // objects of Lock::ForThreads

struct LockFile {
  const char *name, *held;
};
// By Lock::Use.
constexpr LockFile kPortFiles[] = {
    {"endpoint", "another xdp-roce sends or responds there and receives its frames"},
    {"capture", "another xdp-roce captures there"},
    {"wire", "another xdp-roce wire holds its frames"},
};

Result<Fd> open_file(const std::string &path) {
  if (mkdir(Lock::kDirectory, 0755) < 0 && errno != EEXIST)
    return errno_error(errno, fmt::format("cannot make {}", Lock::kDirectory));
  Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd)
    return errno_error(errno, fmt::format("cannot open {}", path));
  return fd;
}

std::string port_file(uint64_t netns, unsigned ifindex, Lock::Use use) {
  return fmt::format("{}/{}-{}-{}", Lock::kDirectory, kPortFiles[static_cast<size_t>(use)].name,
                     netns, ifindex);
}

// The namespace of a file of a port, NAME-NETNS-IFINDEX; nothing: another file.
std::optional<uint64_t> namespace_of(const std::string &file) {
  for (const LockFile &kind : kPortFiles) {
    const std::string prefix = fmt::format("{}-", kind.name);
    if (!file.starts_with(prefix))
      continue;
    uint64_t netns = 0;
    unsigned ifindex = 0;
    const char *end = file.data() + file.size();
    const auto [dash, error] = std::from_chars(file.data() + prefix.size(), end, netns);
    if (error != std::errc() || dash == end || *dash != '-')
      continue;
    if (const auto last = std::from_chars(dash + 1, end, ifindex);
        last.ec == std::errc() && last.ptr == end)
      return netns;
  }
  return {};
}

// Whether the file that was opened is still the one at the path: remove_files_of_gone() may have
// removed it before it was locked.
bool is_at(const Fd &fd, const std::string &path) {
  struct stat ours {};
  struct stat there {};
  return fstat(fd.get(), &ours) == 0 && stat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

// The locked file; none: another process has it.
Result<std::optional<Fd>> try_file(const std::string &path) {
  for (;;) {
    auto fd = XR_TRY(open_file(path));
    if (flock(fd.get(), LOCK_EX | LOCK_NB) < 0) {
      if (errno == EWOULDBLOCK)
        return std::optional<Fd>();
      return errno_error(errno, fmt::format("cannot lock {}", path));
    }
    if (is_at(fd, path))
      return std::optional(std::move(fd));
  }
}

} // namespace

// A file is removed only by the process that has locked it. Who opened it before that sees in
// try_file() that its lock is of no file.
void Lock::remove_files_of_gone(const std::string &directory,
                                const std::set<uint64_t> &namespaces) {
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(directory, ignored)) {
    const auto netns = namespace_of(entry.path().filename());
    if (!netns || namespaces.count(*netns))
      continue;
    const Fd fd(open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
    if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && is_at(fd, entry.path()))
      unlink(entry.path().c_str());
  }
}

bool Lock::port_is_taken(uint64_t netns, unsigned ifindex, Use use) {
  const Fd fd(open(port_file(netns, ifindex, use).c_str(), O_RDONLY | O_CLOEXEC));
  return fd && flock(fd.get(), LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

Result<Lock> Lock::take_port(uint64_t netns, unsigned ifindex, Use use) {
  const LockFile &file = kPortFiles[static_cast<size_t>(use)];
  const std::string path = port_file(netns, ifindex, use);
  static std::once_flag once;
  std::call_once(once, [] { remove_files_of_gone(kDirectory, host::Netns::all()); });
  auto fd = try_file(path);
  if (fd && !*fd) { // features_in_use() of another process has it for a moment
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    fd = try_file(path);
  }
  if (!fd)
    return fd.error();
  if (*fd)
    return Lock(std::move(**fd));
  return Error{file.held, fmt::format("end it first; `fuser {}` names it", path)};
}

std::chrono::milliseconds &Lock::patience() {
  static std::chrono::milliseconds of_process = std::chrono::seconds(20);
  return of_process;
}

Result<Lock::ForThreads> Lock::ForThreads::take() {
  auto lock = Lock::take(Kind::Exclusive);
  if (!lock)
    return lock.error();
  held_for_threads++;
  return ForThreads(std::move(lock->fd_));
}

Lock::ForThreads::~ForThreads() {
  if (fd_)
    held_for_threads--;
}

Result<Lock> Lock::take(Kind kind, std::chrono::milliseconds patience) {
  if (held_for_threads)
    return Lock(Fd());
  auto file = XR_TRY(open_file(kFile));
  Fd fd = std::move(file);
  auto until = std::chrono::steady_clock::now() + patience;
  while (flock(fd.get(), (kind == Kind::Shared ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return errno_error(errno, fmt::format("cannot lock {}", kFile));
    if (std::chrono::steady_clock::now() > until)
      return Error{"another xdp-roce is attaching or detaching and does not finish",
                   fmt::format("`fuser {}` names it", kFile)};
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Lock(std::move(fd));
}

} // namespace xr::datapath
