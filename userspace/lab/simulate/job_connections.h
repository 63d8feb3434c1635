// SPDX-License-Identifier: Apache-2.0
// The connections between a job's ranks, each a flow of the simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "job/job.h"

namespace xr::simulate {

struct JobConnection {
  std::string name;            // "train:0-1", "train:0-1.2", "train:1-0.cts"
  uint32_t rank = 0, peer = 0; // sender, receiver
  uint64_t largest = 1;        // message, bytes
};

struct JobConnections {
  std::vector<JobConnection> all;     // in the order of their first messages
  std::vector<uint32_t> of_operation; // index in `all`; job::kNone: no message, or inside a host
};
// Error: more ranks or channels than there are numbers, with a hint.
Result<JobConnections> connections_of(const job::Job &job);

} // namespace xr::simulate
