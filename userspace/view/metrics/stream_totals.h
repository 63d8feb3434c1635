// SPDX-License-Identifier: Apache-2.0
// The columns of a stream that are exported, and their sums over all streams of a port.
#pragma once

#include <cstdint>
#include <vector>

#include "model/snapshot.h"

namespace xr::metrics {

struct StreamMetric {
  const char *key;  // key of the report's column
  const char *stem; // the metric per stream is xdp_roce_stream_STEM
  bool counter;     // false: a gauge
  bool summed;      // also exported as sum over all streams: xdp_roce_STEM
  const char *help;
};
const std::vector<StreamMetric> &stream_metrics();

// Sums that do not decrease when streams are forgotten: adds what each stream has counted since the
// previous snapshot.
class StreamTotals {
public:
  // Returns the sums in the order of stream_metrics(). They restart when `attached_since_ns`
  // changes.
  const std::vector<uint64_t> &update(const Snapshot &now, uint64_t attached_since_ns);

private:
  std::vector<uint64_t> sums_;
  Snapshot before_; // only its streams
  uint64_t since_ns_ = 0;
};

} // namespace xr::metrics
