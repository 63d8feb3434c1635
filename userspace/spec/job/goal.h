// SPDX-License-Identifier: Apache-2.0
// GOAL, the text format of LogGOPSim and ATLAHS (Hoefler, Siebert and Lumsdaine 2009;
// github.com/spcl/LogGOPSim): what each rank sends, receives and computes, and what waits for what.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "job/job.h"

namespace xr::job {

// A job of one step; its ranks have no hosts yet: `hosts` has an empty name for each.
// A send is a message on the channel of its nic. A recv is a join that waits for the message: sends
// and recvs of a pair of ranks and a tag meet in the order of the file, as in MPI. A calc of T ns
// is compute of its cpu. `requires` waits until a send's receiver has confirmed all, until a recv
// has all, or until a calc has ended; `irequires` until the other one has begun. A send of 0 bytes
// takes no time. Errors begin with the line.
Result<Job> read_goal(std::string_view text, const std::string &name);

} // namespace xr::job
