// SPDX-License-Identifier: Apache-2.0
// The state as a frame: what stands where, and what gives way on a small screen.
#pragma once

#include "watch/model.h"

namespace xr::watch {

// Clamps what scrolls to what there is.
Frame lay_out(State &state, const Size &size);

} // namespace xr::watch
