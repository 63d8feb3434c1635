// SPDX-License-Identifier: Apache-2.0
// A packet source that sends requests and reports its progress.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "congestion/qp_rates.h"
#include "packet/pauses.h"
#include "packet/source.h"
#include "requester/send_counts.h"

struct xdp_roce_hop;

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
  // Appends further values of congestion controls, by their names.
  virtual void control_values(uint64_t /*now*/, congestion::ControlValues &) {}
  // Appends a row for each flow that sent.
  virtual void flow_losses(std::vector<FlowLosses> &) const {}
  // What was verified; nullptr: the source verifies nothing.
  virtual const VerifyCounts *verified() const { return nullptr; }
  // RDMA CM's counters; nullptr: the source connects nothing.
  virtual const CmCounts *cm() const { return nullptr; }
  // Flows of a paused priority wait from now on; replays and PFC frames do not. Before next().
  virtual void obey(const packet::Pauses &) {}
  // Asks for the memory that the next packet needs, before next() is called: in steps, each of
  // which reads what the one before has asked for.
  static constexpr unsigned kPrefetchSteps = 4;
  virtual void prefetch(unsigned /*step*/) const {}
  // The hops by which the request went that the next received frame answers; valid until then.
  virtual void echo(std::span<const xdp_roce_hop>) {}
};

} // namespace xr::requester
