// SPDX-License-Identifier: Apache-2.0
// The live page: HTML that needs no other file, and draws what the events say.
#pragma once

#include <string>

namespace xr::live {

std::string page();

} // namespace xr::live
