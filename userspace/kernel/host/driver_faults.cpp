// SPDX-License-Identifier: Apache-2.0
#include "host/driver_faults.h"

namespace xr::host {

std::optional<std::string> native_fault(const std::string &driver) {
  // Seen with kernel 7.2: the hook still names the program, which does not run any more.
  if (driver == "vmxnet3")
    return "forgets its program when the port goes down or gets another MTU: nothing is counted";
  return {};
}

} // namespace xr::host
