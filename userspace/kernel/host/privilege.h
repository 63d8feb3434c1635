// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace xr::host {

// Checks the capabilities of this thread; the error names the missing ones. Load: the verifier
// allows packet pointer subtraction only with CAP_PERFMON. Sockets: AF_XDP needs CAP_NET_RAW and no
// BPF capability. Read: changes no interface.
enum class Privilege { Read, Use, Load, Sockets };
Status check_privilege(Privilege needed = Privilege::Use);
// Names of the missing capabilities.
Result<std::vector<std::string>> missing_capabilities(Privilege needed);
// Whether RLIMIT_MEMLOCK limits this thread. CAP_IPC_LOCK bypasses it; CAP_SYS_RESOURCE can raise
// it.
bool memlock_binds();

// `release` is as in uname ("5.10.0-8-amd64"). True: this kernel cannot run the program.
bool kernel_too_old(const std::string &release);
std::string kernel_release();

} // namespace xr::host
