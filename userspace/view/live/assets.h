// SPDX-License-Identifier: Apache-2.0
// The files of page/, as CMake embeds them.
#pragma once

namespace xr::live {

extern const char *const kLiveScript;
extern const char *const kLiveStyle;
extern const char *const kLiveMarkup;

} // namespace xr::live
