// SPDX-License-Identifier: Apache-2.0
#include "datapath/kept_program.h"

#include <cerrno>
#include <thread>

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>

namespace xr::datapath {

namespace {

// In a namespace without other ports. The port lives as long as its file.
Result<Fd> port_with(int program) {
  if (unshare(CLONE_NEWNET) < 0)
    return errno_error(errno, "cannot make a network namespace");
  Fd port(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  if (!port)
    return errno_error(errno, "cannot open /dev/net/tun");
  ifreq request = {};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(port.get(), TUNSETIFF, &request) < 0)
    return errno_error(errno, "cannot make a TAP port");
  const unsigned index = if_nametoindex(request.ifr_name);
  if (const int error =
          bpf_xdp_attach(static_cast<int>(index), program, XDP_FLAGS_DRV_MODE, nullptr);
      error < 0)
    return errno_error(-error, "cannot attach to a TAP port");
  return port;
}

} // namespace

Result<KeptProgram> KeptProgram::keep(int program) {
  Result<Fd> port = Error{""};
  // A thread of its own: the caller stays in its namespace.
  std::thread([&] { port = port_with(program); }).join();
  KeptProgram self;
  self.port_ = XR_TRY(std::move(port));
  return self;
}

} // namespace xr::datapath
