// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "port_capture/frame_merger.h"

namespace xr::port_capture {

// The comment of a frame in a capture: tracking result, rule, and outcome.
std::string comment(const TracedFrame &frame, bool tracked);

} // namespace xr::port_capture
