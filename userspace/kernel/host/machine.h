// SPDX-License-Identifier: Apache-2.0
// Names of this machine and its kernel, and SHA-256 by the kernel.
#pragma once

#include <string>

#include "base/result.h"

namespace xr::host {

struct Machine {
  std::string name, kernel, architecture; // as `uname -nrm`
};
Machine read_machine();

// In hexadecimal.
Result<std::string> file_sha256(const std::string &path);

} // namespace xr::host
