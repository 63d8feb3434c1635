// SPDX-License-Identifier: Apache-2.0
// Lays out the state as a screen, and decides what is left out when it is small.
#pragma once

#include "watch/model.h"

namespace xr::watch {

// Also limits the scroll positions in `state` to the content.
Screen render(State &state, const Size &size);

} // namespace xr::watch
