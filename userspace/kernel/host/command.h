// SPDX-License-Identifier: Apache-2.0
// Commands for hints.
#pragma once

#include <string>

namespace xr::host {

// `line` as a shell command that works on the interfaces of the namespace with this ip-netns(8)
// name; "": the caller's. Not by `ip netns exec`, which hides bpffs, and with it what is attached.
std::string command_in(const std::string &netns, const std::string &line);

} // namespace xr::host
