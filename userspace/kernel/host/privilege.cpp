// SPDX-License-Identifier: Apache-2.0
#include "host/privilege.h"

#include <array>
#include <cstdio>

#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>

namespace xr::host {

namespace {

// The effective capabilities of this thread.
class Capabilities {
public:
  bool read() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    return syscall(SYS_capget, &header, data_.data()) == 0;
  }
  bool operator()(int cap) const {
    return (data_[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap)) != 0;
  }

private:
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data_{};
};

} // namespace

Result<std::vector<std::string>> missing_capabilities(Privilege needed) {
  Capabilities has;
  if (!has.read())
    return errno_error(errno, "cannot read this process's capabilities");
  // The kernel accepts CAP_SYS_ADMIN in place of CAP_BPF and CAP_PERFMON, but not of CAP_NET_ADMIN.
  bool all = has(CAP_SYS_ADMIN);
  std::vector<std::string> missing;
  if (!has(CAP_NET_ADMIN) && needed != Privilege::Read)
    missing.emplace_back("CAP_NET_ADMIN");
  if (!has(CAP_NET_RAW) && needed == Privilege::Sockets)
    missing.emplace_back("CAP_NET_RAW");
  if (!all && !has(CAP_BPF) && needed != Privilege::Sockets)
    missing.emplace_back("CAP_BPF");
  if (!all && !has(CAP_PERFMON) && needed == Privilege::Load)
    missing.emplace_back("CAP_PERFMON");
  return missing;
}

bool memlock_binds() {
  Capabilities has;
  return !has.read() || (!has(CAP_IPC_LOCK) && !has(CAP_SYS_RESOURCE));
}

Status check_privilege(Privilege needed) {
  auto missing = missing_capabilities(needed);
  if (!missing)
    return std::move(missing).error();
  if (missing->empty())
    return {};
  return Error{fmt::format("no privilege: {} missing", fmt::join(*missing, " and ")),
               "run it as root"};
}

std::string kernel_release() {
  utsname name{};
  return uname(&name) == 0 ? name.release : "?";
}

bool kernel_too_old(const std::string &release) {
  int major = 0, minor = 0;
  if (sscanf(release.c_str(), "%d.%d", &major, &minor) != 2) // NOLINT(cert-err34-c)
    return false;
  return major < 5 || (major == 5 && minor < 15);
}

} // namespace xr::host
