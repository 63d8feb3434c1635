// SPDX-License-Identifier: Apache-2.0
// The program of live frames (bpf/live.bpf.c), loaded for one flow and one port. The kernel frees
// it with this object.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "datapath/kept_program.h"
#include "roce/live.h"

struct xdp_roce_live;

namespace xr::datapath {

class LiveProgram {
public:
  // `port` is an ifindex in the network namespace of the thread. Error: the kernel has no live
  // frames, or `frame` is too long for them.
  static Result<LiveProgram> load(const roce_live_plan &plan, std::span<const roce_live_qp> qps,
                                  std::span<const uint8_t> frame, unsigned port);

  // What the program counts; it stops at `limit` packets, 0 at first.
  roce_live_state &state() { return *state_; }
  const roce_live_state &state() const { return *state_; }

  // The kernel runs the program this many times, in batches of `batch` frames (256 at most), which
  // are sent together. In the namespace of the port. A signal ends it early, without an error.
  Status run(uint32_t times, uint32_t batch);

  // A call of `run` takes some 30 us; else, but for a single run, some 25 ms, and why
  // (kept_program.h).
  bool quick() const { return static_cast<bool>(kept_); }
  const std::string &why_slow() const { return why_slow_; }

  int fd() const;
  // One run on `frame`, which is not sent: what the program made of it. For tests.
  Result<std::vector<uint8_t>> try_on(std::span<const uint8_t> frame);

private:
  struct Close {
    void operator()(xdp_roce_live *object) const;
  };
  std::unique_ptr<xdp_roce_live, Close> object_;
  KeptProgram kept_;
  std::string why_slow_;
  roce_live_state *state_ = nullptr;
  std::vector<uint8_t> frame_;
};

} // namespace xr::datapath
