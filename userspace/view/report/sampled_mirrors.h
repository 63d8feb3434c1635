// SPDX-License-Identifier: Apache-2.0
// Mirror sessions that sample: they send some of the packets and number only those, so that a gap
// in the PSNs without one in the numbers does not mean that the network lost anything.
#pragma once

#include <cstdint>
#include <vector>

#include "model/snapshot.h"

namespace xr::report {

// A session looks sampled (include/roce/README.md, 10) with at least so many gaps in its request
// streams, or in its response streams, and at least one to so many packets of these.
constexpr uint64_t kSampledGaps = 16;
constexpr uint64_t kSampledPackets = 4;

// For each of the snapshot's mirrors: whether it looks sampled. Needs the streams.
std::vector<bool> sampled_mirrors(const Snapshot &snapshot);

// The streams that came by one of these; empty: none did.
std::vector<bool> sampled_streams(const Snapshot &snapshot, const std::vector<bool> &sampled);

} // namespace xr::report
