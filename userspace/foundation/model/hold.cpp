// SPDX-License-Identifier: Apache-2.0
#include "model/hold.h"

#include <algorithm>

namespace xr {

void HoldCounts::merge(const HoldCounts &other) {
  frames += other.frames;
  bytes += other.bytes;
  dropped_frames += other.dropped_frames;
  dropped_bytes += other.dropped_bytes;
  timeouts += other.timeouts;
  backlog_frames += other.backlog_frames;
  backlog_bytes += other.backlog_bytes;
  most_frames = std::max(most_frames, other.most_frames);
  most_bytes = std::max(most_bytes, other.most_bytes);
  late.merge(other.late);
}

} // namespace xr
