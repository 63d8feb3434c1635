// SPDX-License-Identifier: Apache-2.0
// A network of up to 16 hosts with frames: hosts, queues and switches are those of virtual time, by
// the clock, and the frames of each link pass a veth pair. For what a lane and its one queue
// (plan.h) cannot do: jobs, flows that start after others, any topology.
#pragma once

#include "base/result.h"
#include "places/namespaces.h"
#include "places/run.h"

namespace xr::places {

// Whether the scenario needs such a network.
bool needs_network(const simulate::Scenario &scenario);
// Error: it is too large, or not possible with frames.
Status check_network(const simulate::Scenario &scenario);
// Does what run_in_namespaces() does, for such a scenario.
Result<ExperimentResult> run_network(const experiment::Experiment &experiment,
                                     const NamespacesOptions &options, const RunHooks &hooks);

} // namespace xr::places
