// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool.h"

#include <cerrno>
#include <utility>

#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"

namespace xr::host {

int ethtool(const std::string &ifname, void *command) {
  Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  if (!fd)
    return -errno;
  ifname.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = static_cast<char *>(command);
  int result = ioctl(fd.get(), SIOCETHTOOL, &request);
  return result < 0 ? -errno : result;
}

Ethtool ethtool_of(std::string ifname) {
  return [ifname = std::move(ifname)](void *command) { return ethtool(ifname, command); };
}

} // namespace xr::host
