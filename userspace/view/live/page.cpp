// SPDX-License-Identifier: Apache-2.0
#include "live/page.h"

#include <fmt/format.h>

#include "live/assets.h"
#include "live/event.h"
#include "plot/assets.h"

namespace xr::live {

std::string page() {
  return fmt::format("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width\">\n"
                     "<title>xdp-roce watch</title>\n<link rel=\"icon\" href=\"data:,\">\n"
                     "<style>{}\n{}\n{}</style></head>\n<body>\n{}\n"
                     "<script type=\"application/json\" id=\"columns\">{}</script>\n"
                     "<!-- {}-->\n<script>{}</script>\n<script>{}\n{}</script>\n"
                     "</body></html>\n",
                     plot::kPlotStyle, plot::kPageStyle, kLiveStyle, kLiveMarkup, stream_columns(),
                     plot::kPlotLicence, plot::kPlotScript, plot::kShapesScript, kLiveScript);
}

} // namespace xr::live
