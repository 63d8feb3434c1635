// SPDX-License-Identifier: Apache-2.0
// Parts of the reports of `send`, `respond` and `peer`.
#pragma once

#include <string>
#include <vector>

#include "model/run_reports.h"
#include "report/document.h"

namespace xr::report {

Section cm_section(const CmCounts &counts);
Section memory_section(const MemoryReport &memory);
void add_verified(std::vector<Section> &sections, const VerifyCounts &counts);

// A document with title, "schema", "source" and "seconds".
Document begin_run(const char *command, const std::string &ifname, double seconds);
// `sockets`: it has AF_XDP sockets, and not only threads.
Section port_section(const RunReport &report, bool sockets = true);
Section hidden_when_zero(const char *key, const char *title, decltype(Section::body) body);
// Adds the faults, answers and retransmissions of what was sent.
void add_sent(std::vector<Section> &sections, const SendCounts &counts);
void add_pauses(std::vector<Section> &sections, const PauseReport &report);
// What was lost at this host, and `more`.
Section engine_overflow(const EngineCounts &engine, std::vector<Field> more);

} // namespace xr::report
