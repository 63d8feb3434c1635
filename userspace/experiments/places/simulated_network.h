// SPDX-License-Identifier: Apache-2.0
// A network of up to 16 hosts with frames: hosts, queues and switches as in virtual time, by the
// clock, and each link a veth pair that its frames pass. For what needs more than the two ports of
// a lane (plan.h): jobs, flows that start after others, any topology.
#pragma once

#include "base/result.h"
#include "places/namespaces.h"
#include "places/run.h"

namespace xr::places {

// Whether the scenario needs one.
bool needs_network(const simulate::Scenario &scenario);
// As run_in_namespaces().
Result<ExperimentResult> run_network(const experiment::Experiment &experiment,
                                     const NamespacesOptions &options, const RunHooks &hooks);

} // namespace xr::places
