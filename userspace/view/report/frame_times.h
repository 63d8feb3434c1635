// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/frame_times.h"
#include "report/document.h"

namespace xr::report {

// Which clock the times are of, and the times that mirrors and packet brokers have stamped.
void add_frame_times(Document &document, const FrameTimes &times);

// capture, mirror, trailer, in the order of FrameClock.
const std::vector<std::string> &clock_names();

} // namespace xr::report
