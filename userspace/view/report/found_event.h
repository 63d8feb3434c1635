// SPDX-License-Identifier: Apache-2.0
// Episodes and findings of a port as events: a line of text, or of JSON, each.
#pragma once

#include <cstdint>

#include "model/episodes.h"
#include "report/document.h"

namespace xr::report {

// `realtime_offset_ns`: what to add to the kernel's clock for the time of day.
Document episode_event(const EpisodeRow &row, uint64_t realtime_offset_ns);
Document finding_event(const FindingRow &row, uint64_t realtime_offset_ns);

} // namespace xr::report
