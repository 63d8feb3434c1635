// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/comparison.h"
#include "report/document.h"

namespace xr::report {

// The report of `compare`. Places are called A, B, C ... `top`: only so many rows of streams, those
// that lost most; 0: all.
Document compare_report(const Comparison &comparison, size_t top = 0);

} // namespace xr::report
