// SPDX-License-Identifier: Apache-2.0
#include "datapath/lock.h"

#include <atomic>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

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

} // namespace

bool Lock::port_is_taken(uint64_t netns, unsigned ifindex, Use use) {
  const Fd fd(open(port_file(netns, ifindex, use).c_str(), O_RDONLY | O_CLOEXEC));
  return fd && flock(fd.get(), LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

Result<Lock> Lock::take_port(uint64_t netns, unsigned ifindex, Use use) {
  const LockFile &file = kPortFiles[static_cast<size_t>(use)];
  const std::string path = port_file(netns, ifindex, use);
  auto fd = open_file(path);
  if (!fd)
    return fd.error();
  // Tries twice: features_in_use() of another process takes this lock for a moment.
  if (flock(fd->get(), LOCK_EX | LOCK_NB) == 0)
    return Lock(std::move(*fd));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (flock(fd->get(), LOCK_EX | LOCK_NB) == 0)
    return Lock(std::move(*fd));
  if (errno != EWOULDBLOCK)
    return errno_error(errno, fmt::format("cannot lock {}", path));
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
  auto file = open_file(kFile);
  if (!file)
    return file.error();
  Fd fd = std::move(*file);
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
