// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/episodes.h"
#include "report/document.h"

namespace xr::report {

// Adds the sections "episodes", "findings" and "pairs", and what was not followed.
void add_episodes(Document &document, const Episodes &episodes);

} // namespace xr::report
