// SPDX-License-Identifier: Apache-2.0
// A packet source that sends requests and reports its progress.
#pragma once

#include <cstdint>
#include <vector>

#include "packet/pauses.h"
#include "packet/source.h"
#include "requester/send_counts.h"

namespace xr::requester {

class Requester : public packet::Source {
public:
  virtual const SendCounts &counts() const = 0;
  // Average requested rate in packets per second; 0: unpaced.
  virtual double asked_pps() const = 0;
  // Total packets, or messages for a requester that tracks their completion; 0: unlimited or
  // unknown. over(): how many of them are done.
  virtual uint64_t expected() const = 0;
  virtual uint64_t over() const { return counts().packets; }
  // Appends a row for each QP whose rate is controlled, as of `now`.
  virtual void qp_rates(uint64_t /*now*/, std::vector<QpRate> &) {}
  // Appends a row for each flow with losses.
  virtual void flow_losses(std::vector<FlowLosses> &) const {}
  // What was verified; nullptr: the source verifies nothing.
  virtual const VerifyCounts *verified() const { return nullptr; }
  // RDMA CM's counters; nullptr: the source connects nothing.
  virtual const CmCounts *cm() const { return nullptr; }
  // Flows of a paused priority wait from now on; replays and PFC frames do not. Before next().
  virtual void obey(const packet::Pauses &) {}
};

} // namespace xr::requester
