// SPDX-License-Identifier: Apache-2.0
// Commands that hints name, as they work for a port as it is: in its network namespace, on a
// bridge, counted together with other ports.
#pragma once

#include <string>
#include <string_view>

#include "model/port_status.h"

namespace xr::datapath {

// "xdp-roce WORDS", with --netns for a port of another network namespace than the caller's.
std::string command_for(const PortStatus &port, std::string_view words);

// "ip WORDS", with -n where command_for() has --netns.
std::string ip_for(const PortStatus &port, std::string_view words);

// Detaches the port and attaches it as it was, with option `more` and without option `less` ("":
// none). A bridge is made again, and ports that count as one are attached together.
std::string attach_again(const PortStatus &port, std::string_view more = "",
                         std::string_view less = "");

// "COMMANDS", by which a port that has another ABI is attached by this version.
std::string replace_other_abi(const PortStatus &port);

// The port in a bridge with a port IF2 of the user's choice. `command`: bridge or wire.
std::string make_bridge(const PortStatus &port, std::string_view command);

} // namespace xr::datapath
