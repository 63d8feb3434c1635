// SPDX-License-Identifier: Apache-2.0
// What a rule did to a frame, for captures.
#pragma once

#include <string>

#include "roce/stream.h"

namespace xr::impair {

// "rule 3: dropped". `trace.rule` is not 0.
std::string trace_words(const roce_trace &trace);

} // namespace xr::impair
