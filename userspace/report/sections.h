// SPDX-License-Identifier: Apache-2.0
// What the reports are put together from.
#pragma once

#include "report/reports.h"

namespace xr::report {

// Title, "schema", "source" and "time".
Document begin(const Moment &moment);

void add_counters(Document &document, const Moment &moment);
void add_streams(Document &document, const Moment &moment, const StreamOptions &options);
// What was lost, and where.
Group overflow_of(const Snapshot &snapshot);
void add_overflow(Document &document, const Snapshot &snapshot);

// Between the two snapshots; 0 without `before`.
double seconds_of(const Moment &moment);
// Per second, rounded to a thousandth; 0 where the counter started anew.
double rate_of(uint64_t now, uint64_t before, double seconds);

} // namespace xr::report
