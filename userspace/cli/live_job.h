// SPDX-License-Identifier: Apache-2.0
// The training job of a port that keeps its bursts (attach --job), read again and again.
#pragma once

#include <memory>

#include "analysis/job_follower.h"
#include "base/result.h"
#include "datapath/attached_port.h"
#include "model/live_job.h"

namespace xr::cli {

class LiveJobReader {
public:
  explicit LiveJobReader(const PortStatus &status)
      : on_((status.features & ROCE_FEATURE_JOB) != 0) {}

  bool on() const { return on_; }
  // Null: the port keeps no bursts.
  Result<std::shared_ptr<const LiveJob>> read(const datapath::AttachedPort &port);

private:
  bool on_;
  JobFollower follower_;
};

} // namespace xr::cli
