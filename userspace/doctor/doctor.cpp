// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor.h"

#include "doctor/check_rdma.h"
#include "doctor/kernel.h"
#include "doctor/pfc_trial.h"
#include "doctor/port.h"
#include "host/netns.h"

namespace xr::doctor {

namespace {

// Whether the sysfs files belong to the namespace. A given root always does; the machine's /sys
// shows only the caller's namespace.
bool sys_is_of(const Question &question) {
  if (!question.root.empty() || question.netns.empty())
    return true;
  const auto own = host::Netns::open(""), asked = host::Netns::open(question.netns);
  return own && asked && own.get().inode() == asked.get().inode();
}

} // namespace

Result<Checks> examine(const Question &question) {
  const host::Files files(question.root);
  Checks checks;
  KernelFacts kernel = read_kernel(files);
  if (!question.command.empty())
    kernel.command = question.command;
  check_kernel(kernel, checks);
  if (question.ifname.empty()) {
    list_rdma(files, checks);
    return checks;
  }
  auto port = XR_TRY(read_port({question.ifname, question.netns}, question.try_port, question.fix));
  port.program = question.program;
  port.asked = question.command;
  const bool own_sys = sys_is_of(question);
  read_device(files, own_sys, port);
  check_port(port, checks);
  if (!question.pfc_from.empty()) {
    checks.push_back(XR_TRY(try_pfc({question.ifname, question.netns}, question.pfc_from)));
  }
  if (own_sys)
    check_rdma(files, port, question.peer_mode, checks);
  else
    rdma_elsewhere(port, question.peer_mode, checks);
  return checks;
}

} // namespace xr::doctor
