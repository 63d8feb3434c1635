// SPDX-License-Identifier: Apache-2.0
// Snapshots for reports. Together they have a value in every field.
#pragma once

#include <cstdint>
#include <vector>

#include "model/run_reports.h"
#include "model/snapshot.h"
#include "model/wire_counts.h"
#include "roce/event.h"

inline constexpr uint64_t kTime = 1'700'000'000'123'456'789; // 2023-11-14T22:13:20Z and a bit

xr::Snapshot empty_snapshot();
// Few packets of all classes, nothing lost by us, a truncated file.
xr::Snapshot busy_capture();
// IPv4 and IPv6, every kind of stream, counters beyond 32 bits, every overflow.
xr::Snapshot busy_port();
xr::Snapshot a_second_later(const xr::Snapshot &before);
// A port of a wire whose link drops, marks and is paused; a thousand frames in the next second.
xr::WirePortCounts busy_wire();
// `send` with 20 QPs, 2 of them with rows.
xr::EndpointRates controlled_rates();
xr::WirePortCounts a_second_later(const xr::WirePortCounts &before);

// And an unknown type at the end.
std::vector<roce_event> one_event_of_each();
