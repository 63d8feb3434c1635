// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "port_capture/order.h"

namespace xr::port_capture {

// What the tracker found, what a rule did, where the frame went: in words, as the kernel told it.
std::string comment(const Frame &frame, bool tracked);

} // namespace xr::port_capture
