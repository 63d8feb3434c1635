// SPDX-License-Identifier: Apache-2.0
// Texts of HTTP headers.
#pragma once

#include <string>
#include <string_view>

namespace xr::http {

// Whether a value of `Accept-Encoding` lists gzip, and not with q=0.
bool accepts_gzip(std::string_view value);

// The text of base64 with its padding; "" if it is none.
std::string from_base64(std::string_view text);

} // namespace xr::http
