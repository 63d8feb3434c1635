// SPDX-License-Identifier: Apache-2.0
// Which of a stream's numbers are exported, and their sums over all streams of a port.
#pragma once

#include <cstdint>
#include <vector>

#include "model/snapshot.h"

namespace xr::metrics {

struct StreamMetric {
  const char *key;  // of the report's column
  const char *stem; // the metric of a stream is xdp_roce_stream_STEM
  bool counter;     // false: it may fall
  bool summed;      // over all streams: xdp_roce_STEM
  const char *help;
};
const std::vector<StreamMetric> &stream_metrics();

// Sums that do not fall when streams are forgotten: what each stream has counted since the
// snapshot before is added.
class StreamTotals {
public:
  // In the order of stream_metrics(). An attachment begun at another time starts anew.
  const std::vector<uint64_t> &update(const Snapshot &now, uint64_t attached_since_ns);

private:
  std::vector<uint64_t> sums_;
  Snapshot before_; // its streams
  uint64_t since_ns_ = 0;
};

} // namespace xr::metrics
