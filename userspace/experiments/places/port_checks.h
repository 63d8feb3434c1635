// SPDX-License-Identifier: Apache-2.0
// What a run on ports cannot do, in words, before anything is attached.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "experiment/experiment.h"
#include "packet/frame.h"
#include "places/plan.h"
#include "places/run_ports.h"

namespace xr::places {

// `named`: the ports of all roles.
Status check_experiment(const experiment::Experiment &experiment, const Plan &plan,
                        const RunPorts &named);
// Each port is there, up and not attached, and fast enough for the plan. `speed`: of ports that do
// not report theirs, in bit/s; 0: not given.
Status check_ports(const Plan &plan, const RunPorts &ports, uint64_t speed);

// The kernel's IPv4 addresses; none where the port is not here.
std::vector<Address> addresses_of(const RunPort &port);
// The MAC of the plan's receivers, asked for by ARP until the patience ends, as they may start
// later. `go_on` false: the user ended it.
Result<std::optional<packet::Mac>> find_mac(const RunPort &sender, const Plan &plan,
                                            uint64_t patience_ns,
                                            const std::function<bool()> &go_on);

// Sends a gratuitous ARP request: endpoint::announce().
Status announce(const RunPort &port, const Address &own);

} // namespace xr::places
