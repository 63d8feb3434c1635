// SPDX-License-Identifier: Apache-2.0
// The sections of which counters_report() and the other reports are made.
#pragma once

#include <cstdint>

#include "report/reports.h"

namespace xr::report {

// A document with title, "schema", "source" and "time".
Document begin(const Moment &moment);
// A document on port `ifname` that has no snapshot: "schema", "source" and "time".
Document port_document(const std::string &ifname);

void add_counters(Document &document, const Moment &moment);
// `episodes`: of the same capture; null: not followed. Must outlive the document.
void add_streams(Document &document, const Moment &moment, const StreamOptions &options,
                 const Episodes *episodes = nullptr);
// Counters of losses: full tables, full queues, limits.
Group overflow_of(const Snapshot &snapshot);
void add_overflow(Document &document, const Snapshot &snapshot);

// Seconds between the two snapshots; 0 without `before`.
double seconds_of(const Moment &moment);
// Per second, rounded to a thousandth; 0 if the counter was reset.
double rate_of(uint64_t now, uint64_t before, double seconds);

} // namespace xr::report
