// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "record/order.h"

namespace xr::record {

// What the tracker found, what a rule did, where the frame went: in words, as the kernel told it.
std::string comment(const Frame &frame, bool tracked);

} // namespace xr::record
