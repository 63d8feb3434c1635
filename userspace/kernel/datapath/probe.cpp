// SPDX-License-Identifier: Apache-2.0
#include "datapath/probe.h"

#include <cerrno>

#include <sys/socket.h>

#include "base/fd.h"
#include "datapath/log.h"
#include "datapath/object.h"
#include "host/privilege.h"
#include "roce/config.h"

namespace xr::datapath {

Status probe_load() {
  if (auto allowed = begin_call(host::Privilege::Load); !allowed)
    return allowed;
  AttachOptions options;
  options.streams = 1;
  options.ring_bytes = 1;
  options.rules = true;
  options.features = ROCE_FEATURE_SOCKETS | ROCE_FEATURE_CAPTURE;
  auto object = XR_TRY(Object::open(make_config(options, kernel_has_frags()), options.ring_bytes));
  return object.load();
}

Status probe_sockets() {
  Fd fd(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (fd)
    return {};
  return errno_error(errno, "AF_XDP sockets are refused");
}

} // namespace xr::datapath
