// SPDX-License-Identifier: Apache-2.0
// What the flows of a plan have done, by the accounting of streams at the ports.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/run_reports.h"
#include "model/wire_counts.h"
#include "places/plan.h"

namespace xr::places {

// Since the start of the run. Bytes are of frames without FCS.
struct FlowCounts {
  uint64_t sent = 0, sent_again = 0; // frames with data that came to the wire; of a PSN seen before
  uint64_t received = 0, received_bytes = 0, received_again = 0;
  uint64_t marked = 0;                         // received with CE
  uint64_t cnps = 0;                           // that came to the sender
  uint64_t naks = 0, timeouts = 0, failed = 0; // of the requester; failed: messages
  // Sums over QPs whose rate is controlled; alpha: their mean.
  uint64_t cuts = 0;
  double rate = 0, target = 0, alpha = 0;
  bool controlled = false;

  uint64_t accepted() const { return received - received_again; }
};

// At one time.
struct Reading {
  uint64_t t_ns = 0; // CLOCK_MONOTONIC
  std::vector<FlowCounts> flows;
  std::shared_ptr<const WirePortCounts> left, right; // of the wire's ports
};

struct PortSnapshots; // open ports

class Counter {
public:
  // The ports are attached.
  static Result<Counter> open(const Plan &plan, const std::string &senders, const std::string &wire,
                              const std::string &receivers);
  Counter(Counter &&) noexcept;
  ~Counter();

  // Without the wire's counts.
  Result<Reading> read(const SendReport &sender) const;

private:
  Counter(const Plan &plan, std::unique_ptr<PortSnapshots> ports);
  FlowCounts *flow_of(Reading &reading, uint32_t qp) const;

  std::unique_ptr<PortSnapshots> ports_;
  uint32_t first_qp_ = 0;
  std::vector<uint32_t> flow_of_qp_; // index: QPN - first_qp_
};

} // namespace xr::places
