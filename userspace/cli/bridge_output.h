// SPDX-License-Identifier: Apache-2.0
// Messages of the commands that make a bridge of two ports: `bridge` and `wire`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/preflight.h"

namespace xr::cli {

// Error if both names are of one port.
Status check_two_ports(const std::string &command, const std::string &first,
                       const std::string &second);

// Conditions in which the bridge loses frames, and what repaired them or would: `command` of the
// two ports, "bridge" or "wire", with --fix.
void tell_troubles(const std::string &command, const std::string &first, const std::string &second,
                   const std::string &netns, const std::vector<datapath::Trouble> &troubles);

// Prints the error and returns the exit status. An error about one port begins with its name: then
// the context does not name both ports.
int fail_of_ports(const std::string &command, const std::string &first, const std::string &second,
                  const Error &error);

} // namespace xr::cli
