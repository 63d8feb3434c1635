// SPDX-License-Identifier: Apache-2.0
// Columns of the streams table from Snapshot::traffic, where it was collected.
#pragma once

#include <vector>

#include "model/stream_traffic.h"
#include "report/document.h"

namespace xr::report {

struct TrafficColumn {
  Column column;
  Value (*value)(const StreamTraffic &);
};

const std::vector<TrafficColumn> &traffic_columns();

} // namespace xr::report
