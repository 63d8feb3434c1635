// SPDX-License-Identifier: Apache-2.0
// For this folder only: captures[].filters[].
#pragma once

#include <vector>

#include "otg/object.h"
#include "packet/bit_match.h"

namespace xr::otg {

// Appends what one filter asks for: all of its fields must match.
void read_filter(Object &filter, std::vector<packet::BitMatch> &matches);

} // namespace xr::otg
