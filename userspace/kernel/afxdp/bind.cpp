// SPDX-License-Identifier: Apache-2.0
#include "afxdp/bind.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <sys/resource.h>

#include <fmt/format.h>

namespace xr::afxdp {

uint32_t ring_size(uint32_t entries) { return std::bit_ceil(std::max(entries, 64U)); }

// Since 5.11 BPF memory is accounted to the cgroup, but the memory of AF_XDP sockets still counts
// against this limit for processes without CAP_IPC_LOCK. A failure shows up later as ENOBUFS.
void raise_memlock() {
  const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  rlimit limit{};
  if (setrlimit(RLIMIT_MEMLOCK, &all) == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_MEMLOCK, &limit);
}

Error bind_error(int error, const std::string &ifname, uint32_t queue, uint32_t longest,
                 bool several) {
  switch (error) {
  case EBUSY:
    return {fmt::format("queue {} is taken by another AF_XDP socket", queue),
            "end the program that has it; `ss --xdp` lists them"};
  case EINVAL:
    if (several)
      return {fmt::format("frames of {} bytes need AF_XDP with several buffers, which this kernel "
                          "does not have",
                          longest),
              "a smaller MTU of the port (up to 3,800), or kernel 6.6"};
    return {fmt::format("there is no queue {}", queue), "`ethtool -l` shows how many there are"};
  case ENETDOWN:
    return {"the port is down", fmt::format("ip link set {} up", ifname)};
  default:
    return errno_error(error, "cannot bind an AF_XDP socket");
  }
}

} // namespace xr::afxdp
