// SPDX-License-Identifier: Apache-2.0
// JSON whose keys are each there once, and JSON as text.
#pragma once

#include <string>
#include <string_view>

#include "otg/object.h"

namespace xr::otg {

// The value, discarded (is_discarded()) where `text` is not JSON. A key that an object has twice is
// an error in `findings`: the last one would win in silence.
Json parse_json(std::string_view text, Findings &findings);

// The text that stock clients read: real numbers without an exponent, which PyYAML would take for
// text, with at most 9 digits after the point. `indent`: blanks a level; 0: one line.
std::string json_text(const Json &json, unsigned indent = 0);
// One value of it at the end of `out`.
void append_text(double value, std::string &out);
void append_text(std::string_view value, std::string &out);

} // namespace xr::otg
