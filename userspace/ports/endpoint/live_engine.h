// SPDX-License-Identifier: Apache-2.0
// Sends one flow as live frames: the kernel runs a program that makes the packets, in calls that
// take some milliseconds each.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "datapath/live_program.h"
#include "endpoint/worker.h"
#include "requester/live_flow.h"

namespace xr::endpoint {

class LiveEngine : public Worker {
public:
  // The port is in namespace `netns` and has number `ifindex` there. Packets of a thread that stays
  // on one processor stay in order.
  static Result<std::unique_ptr<LiveEngine>> open(requester::LiveFlow flow, unsigned ifindex,
                                                  const std::string &netns);

  Status run(const std::atomic<bool> &stop) override;
  void read_counts(const std::function<void(const EngineCounts &)> &use) override;
  bool zero_copy() const override { return false; }

  const requester::LiveFlow &flow() const { return flow_; }
  SendCounts counts() const;
  bool done() const { return done_; }
  uint32_t batch() const { return batch_; } // frames that are sent together
  // Why each call of the kernel takes some 25 ms; "": it does not.
  const std::string &why_slow() const { return program_.why_slow(); }

private:
  LiveEngine(requester::LiveFlow flow, datapath::LiveProgram program, std::string netns);
  bool over(uint64_t now) const;
  void await(uint64_t time, const std::atomic<bool> &stop) const;
  uint32_t times(uint64_t now) const;

  requester::LiveFlow flow_;
  datapath::LiveProgram program_;
  std::string netns_;
  uint32_t batch_;
  bool apart_;    // packets are so far apart that the thread sleeps between them
  double run_ns_; // time of a run of the program, measured
  uint64_t end_ = UINT64_MAX;
  std::atomic<uint64_t> begun_ns_{0}, ended_ns_{0};
  std::atomic<bool> done_{false};
};

} // namespace xr::endpoint
