// SPDX-License-Identifier: Apache-2.0
// JSON whose keys are each there once.
#pragma once

#include <string_view>

#include "otg/object.h"

namespace xr::otg {

// The value, discarded (is_discarded()) where `text` is not JSON. A key that an object has twice is
// an error in `findings`: the last one would win in silence.
Json parse_json(std::string_view text, Findings &findings);

} // namespace xr::otg
