// SPDX-License-Identifier: Apache-2.0
// What there is to tell of a stream, for whoever puts it into a table or into metrics.
#pragma once

#include <vector>

#include "report/document.h"
#include "roce/stream.h"

namespace xr::report {

struct StreamColumn {
  Column column;
  Value (*value)(const roce_stream &); // null: not in the record
};

const std::vector<StreamColumn> &stream_columns();

} // namespace xr::report
