// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace xr {

// Text as content or attribute of XML 1.0 or HTML. Control characters, which XML forbids, become
// '?'.
std::string xml_escaped(std::string_view text);

} // namespace xr
