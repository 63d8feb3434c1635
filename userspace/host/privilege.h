// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace xr::host {

// Success if this thread has what the datapath needs; otherwise the error names what is missing.
// Loading takes more than the rest: the verifier lets nobody subtract packet pointers without
// CAP_PERFMON. AF_XDP sockets want CAP_NET_RAW, and nothing of BPF's. Reading changes no interface.
enum class Privilege { Read, Use, Load, Sockets };
Status check_privilege(Privilege needed = Privilege::Use);
// The capabilities that this thread lacks for it, by their names.
Result<std::vector<std::string>> missing_capabilities(Privilege needed);
// Whether RLIMIT_MEMLOCK binds this thread: CAP_IPC_LOCK passes it by, CAP_SYS_RESOURCE raises it.
bool memlock_binds();

// True for a release as uname gives it ("5.10.0-8-amd64") of a kernel that cannot run the program.
bool kernel_too_old(const std::string &release);
std::string kernel_release();

} // namespace xr::host
