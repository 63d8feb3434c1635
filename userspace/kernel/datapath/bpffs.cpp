// SPDX-License-Identifier: Apache-2.0
#include "datapath/bpffs.h"

#include <cstdlib>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xdp/libxdp.h>

#include <fmt/format.h>

namespace xr::datapath {

namespace {

constexpr const char *kUsual = "/sys/fs/bpf";
constexpr const char *kOurs = "/run/xdp-roce/bpf";

bool is_bpffs(const std::string &path) {
  struct statfs kind {};
  return statfs(path.c_str(), &kind) == 0 && kind.f_type == BPF_FS_MAGIC;
}

pid_t parent_of(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  std::string label;
  pid_t parent = 0;
  while (status >> label)
    if (label == "PPid:" && status >> parent)
      return parent;
  return 0;
}

// The /proc directory of the process whose mount namespace outlives this one: process 1, or, if it
// is not accessible (containers), the outermost accessible ancestor.
std::string outer_process() {
  std::string outermost = "/proc/self";
  for (pid_t pid = getpid(); pid > 0; pid = pid == 1 ? 0 : parent_of(pid)) {
    std::string path = fmt::format("/proc/{}", pid);
    if (access((path + "/ns/mnt").c_str(), R_OK) == 0 &&
        access((path + "/root/run").c_str(), X_OK) == 0)
      outermost = path;
  }
  return outermost;
}

std::vector<std::string> places() {
  std::string root = outer_process() + "/root";
  return {kUsual, kOurs, root + kUsual, root + kOurs};
}

// libxdp searches only /sys/fs/bpf unless LIBXDP_BPFFS is set, and caches its first result.
Bpffs chosen(const std::string &root) {
  if (root != kUsual)
    setenv(XDP_BPFFS_ENVVAR, root.c_str(), 0); // NOLINT(concurrency-mt-unsafe)
  return {root};
}

// In a child process: setns(CLONE_NEWNS) fails in a process with several threads. The child makes
// only system calls, because the parent may have threads.
[[noreturn]] void mount_in_child(const char *path, const char *outer_namespace) {
  int outer = open(outer_namespace, O_RDONLY | O_CLOEXEC);
  struct stat theirs {
  }, ours{};
  if (outer >= 0 && fstat(outer, &theirs) == 0 && stat("/proc/self/ns/mnt", &ours) == 0 &&
      theirs.st_ino != ours.st_ino)
    (void)setns(outer, CLONE_NEWNS); // if not permitted, mount in this namespace
  (void)mkdir("/run/xdp-roce", 0755);
  if (mkdir(path, 0700) < 0 && errno != EEXIST)
    _exit(errno);
  if (mount("bpf", path, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME, "mode=0700") < 0)
    _exit(errno);
  _exit(0);
}

} // namespace

std::optional<Bpffs> find_bpffs() {
  if (const char *configured = getenv(XDP_BPFFS_ENVVAR)) // NOLINT(concurrency-mt-unsafe)
    return is_bpffs(configured) ? std::optional(Bpffs{configured}) : std::nullopt;
  auto all = places();
  for (const std::string &place : all)
    if (is_bpffs(place) && access(Bpffs{place}.pins().c_str(), F_OK) == 0)
      return chosen(place);
  for (const std::string &place : all)
    if (is_bpffs(place))
      return chosen(place);
  return {};
}

namespace {

Status mount_ours() {
  std::string outer = outer_process() + "/ns/mnt";
  pid_t child = fork();
  if (child < 0)
    return errno_error(errno, "cannot start a process to mount a bpffs");
  if (child == 0)
    mount_in_child(kOurs, outer.c_str());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return {};
  return errno_error(WIFEXITED(status) ? WEXITSTATUS(status) : EINTR,
                     fmt::format("no bpffs is mounted and none can be mounted at {}", kOurs),
                     "mount -t bpf bpf /sys/fs/bpf");
}

} // namespace

Result<Bpffs> need_bpffs() {
  if (auto found = find_bpffs())
    return *found;
  if (const char *configured = getenv(XDP_BPFFS_ENVVAR)) // NOLINT(concurrency-mt-unsafe)
    return Error{fmt::format("{}={} is not a mounted bpffs", XDP_BPFFS_ENVVAR, configured),
                 fmt::format("mount -t bpf bpf {}, or unset {}", configured, XDP_BPFFS_ENVVAR)};
  XR_TRY(mount_ours());
  if (auto found = find_bpffs())
    return *found;
  return Error{fmt::format("a bpffs was mounted at {} but cannot be seen from here", kOurs),
               "mount -t bpf bpf /sys/fs/bpf"};
}

} // namespace xr::datapath
