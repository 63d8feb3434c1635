// SPDX-License-Identifier: Apache-2.0
// An experiment's hosts and flows as a configuration of the Open Traffic Generator (JSON).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "experiment/experiment.h"

namespace xr::importers {

struct ExportedConfiguration {
  std::string json;               // with a newline at its end
  std::vector<std::string> notes; // what OTG does not have, or has as another value, and why
};

// Each host with a flow is a port, whose location is the host's name; each QP of a flow is a flow.
// The network and what is judged have no equivalent, which a note says; a flow that has none is an
// error that names it.
Result<ExportedConfiguration> export_otg(const experiment::Experiment &experiment);

} // namespace xr::importers
