// SPDX-License-Identifier: Apache-2.0
#include "datapath/lock.h"

#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace xr::datapath {

namespace {

constexpr const char *kDirectory = "/run/xdp-roce";
constexpr const char *kFile = "/run/xdp-roce/lock";
// Far more than an attach with a large table takes.
constexpr auto kPatience = std::chrono::seconds(20);

} // namespace

Result<Lock> Lock::take(Kind kind) {
  if (mkdir(kDirectory, 0755) < 0 && errno != EEXIST)
    return errno_error(errno, fmt::format("cannot make {}", kDirectory));
  Fd fd(open(kFile, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd)
    return errno_error(errno, fmt::format("cannot open {}", kFile));
  auto until = std::chrono::steady_clock::now() + kPatience;
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
