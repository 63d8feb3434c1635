// SPDX-License-Identifier: Apache-2.0
// Reads size, rate and duration of a flow. What is absent has the model's defaults.
#pragma once

#include "otg/object.h"
#include "packet/frame_schedule.h"

namespace xr::otg {

inline constexpr uint64_t kLargestFrame = 65535; // with FCS

packet::FrameSizes read_sizes(Object &flow);
packet::FrameRate read_rate(Object &flow);
packet::FrameSpan read_span(Object &flow);

} // namespace xr::otg
