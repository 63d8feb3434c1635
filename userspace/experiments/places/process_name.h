// SPDX-License-Identifier: Apache-2.0
// "PID-START": names a process for good, as PIDs are used again.
#pragma once

#include <string>

namespace xr::places {

std::string own_process_name();
// Whether `text` begins with "PID-START-" of a process that has ended.
bool names_ended_process(const std::string &text);

} // namespace xr::places
