// SPDX-License-Identifier: Apache-2.0
// Keeps an XDP program among those that the kernel calls directly. BPF_PROG_TEST_RUN enters its
// program there for each call and takes it out again, and each change waits for a grace period of
// RCU, 20 ms and more; a program that is there already changes nothing (bpf_dispatcher_change_prog
// in kernel/bpf/dispatcher.c). The place is held by a TAP port in a network namespace of its own,
// where no frame arrives; both end with this object, or with the process.
#pragma once

#include "base/fd.h"
#include "base/result.h"

namespace xr::datapath {

class KeptProgram {
public:
  KeptProgram() = default;
  // `program`: of an XDP program. Error: no CAP_SYS_ADMIN for a namespace, or no TAP ports here;
  // calls work without.
  static Result<KeptProgram> keep(int program);
  explicit operator bool() const { return static_cast<bool>(port_); }

private:
  Fd port_;
};

} // namespace xr::datapath
