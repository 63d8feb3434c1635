// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/check.h"
#include "report/document.h"

namespace xr::report {

// `subject` is what was examined: an interface, or "this machine".
Document doctor_report(const std::string &subject, const Checks &checks);

} // namespace xr::report
