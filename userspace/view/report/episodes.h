// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/episodes.h"
#include "model/snapshot.h"
#include "report/document.h"

namespace xr::report {

// Adds the number of episodes by cause, of a port that follows QP pairs.
void add_episode_causes(Document &document, const Snapshot &snapshot);

// Adds the sections "episodes", "findings" and "pairs", and what was not followed.
void add_episodes(Document &document, const Episodes &episodes);

// What following found on port `ifname`.
Document episodes_report(const std::string &ifname, const Episodes &episodes);

// The rows of the first two, with all columns.
Table episode_table(const Episodes &episodes);
Table finding_table(const Episodes &episodes);
// A sentence.
std::string finding_text(const roce_finding &finding);

// "nak", "timeout", ...; "" if it is not known.
std::string episode_cause(const roce_episode &episode);

} // namespace xr::report
