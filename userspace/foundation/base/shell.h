// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace xr {

// The word as a shell reads it: in single quotes, unless it has only letters, digits and
// -_./=:,@%+.
std::string shell_word(const std::string &word);

} // namespace xr
