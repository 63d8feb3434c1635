// SPDX-License-Identifier: Apache-2.0
// Sections and columns of ports and captures whose tunnels were taken off.
#pragma once

#include <cstdint>
#include <vector>

#include "report/reports.h"

namespace xr::report {

void add_tunnels(Document &document, const Snapshot &snapshot);

// Columns of a stream: its missing PSNs by who lost them.
const std::vector<Column> &missing_columns();

// Their cells. The snapshot must outlive it.
class MissingPsns {
public:
  explicit MissingPsns(const Snapshot &snapshot);
  Value cell(uint32_t place, size_t column) const;

private:
  const Snapshot &snapshot_;
  std::vector<bool> sampled_; // by stream; empty: none
};

} // namespace xr::report
