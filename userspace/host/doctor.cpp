// SPDX-License-Identifier: Apache-2.0
#include "host/doctor.h"

#include "host/kernel.h"
#include "host/port.h"

namespace xr::host {

Result<Checks> examine(const Question &question) {
  const Files files(question.root);
  Checks checks;
  check_kernel(read_kernel(files), checks);
  if (question.ifname.empty())
    return checks;
  auto port = read_port(question.ifname, question.netns);
  if (!port)
    return std::move(port).error();
  check_port(*port, checks);
  return checks;
}

} // namespace xr::host
