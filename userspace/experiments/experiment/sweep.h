// SPDX-License-Identifier: Apache-2.0
// The points of a sweep, from `sweep` of an experiment file.
#pragma once

#include <vector>

#include "experiment/settings.h"
#include "experiment/settled_file.h"

namespace xr::experiment {

// All points, the last key varying fastest, and seeds faster than keys; one without settings if
// there is no sweep. `settings`: of the command line.
Result<std::vector<Settings>> sweep_points(const YAML::Node &sweep, const Settings &settings,
                                           const SettledFile &file);

} // namespace xr::experiment
