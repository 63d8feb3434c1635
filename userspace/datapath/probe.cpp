// SPDX-License-Identifier: Apache-2.0
#include "datapath/probe.h"

#include <cerrno>

#include <sys/socket.h>

#include <bpf/libbpf.h>

#include "base/fd.h"
#include "datapath/log.h"
#include "datapath/object.h"
#include "datapath/prepare.h"
#include "datapath/privilege.h"
#include "roce/config.h"

namespace xr::datapath {

Status probe_load() {
  if (auto allowed = check_privilege(Privilege::Load); !allowed)
    return allowed;
  AttachOptions options;
  options.streams = 1;
  options.ring_bytes = 1;
  options.rules = true;
  options.features = ROCE_FEATURE_SOCKETS | ROCE_FEATURE_CAPTURE;
  LogCapture log;
  auto object = Object::open(make_config(options, kernel_has_frags()), options.ring_bytes);
  if (!object)
    return std::move(object).error();
  return object->load();
}

bool probe_dispatcher() {
  silence_libraries();
  return libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_EXT, nullptr) == 1;
}

Status probe_sockets() {
  Fd fd(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (fd)
    return {};
  return errno_error(errno, "AF_XDP sockets are refused");
}

} // namespace xr::datapath
