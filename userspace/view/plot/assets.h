// SPDX-License-Identifier: Apache-2.0
// The files of page/ and of Debian's libjs-dygraphs, as CMake embeds them.
#pragma once

namespace xr::plot {

extern const char *const kPageScript;
extern const char *const kShapesScript;
extern const char *const kPageStyle;
extern const char *const kPlotScript; // dygraphs, MIT licence
extern const char *const kPlotStyle;
extern const char *const kPlotLicence;

} // namespace xr::plot
