// SPDX-License-Identifier: Apache-2.0
#include "cli/live_job.h"

#include "base/clock.h"

namespace xr::cli {

Result<std::shared_ptr<const LiveJob>> LiveJobReader::read(const datapath::AttachedPort &port) {
  if (!on_)
    return std::shared_ptr<const LiveJob>();
  const uint64_t now = monotonic_ns();
  follower_.add(XR_TRY(port.job()), now);
  return std::make_shared<const LiveJob>(follower_.live());
}

} // namespace xr::cli
