// SPDX-License-Identifier: Apache-2.0
// What the flows of a plan have done, by the accounting of streams at the ports.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/run_reports.h"
#include "model/snapshot.h"
#include "model/wire_counts.h"
#include "places/plan.h"
#include "places/run_ports.h"

namespace xr::places {

// Since the start of the run. Bytes are of frames without FCS.
struct FlowCounts {
  // Requests that came to the wire, from the senders; of a PSN seen before. Without a wire here:
  // those that the senders sent.
  uint64_t sent = 0, sent_bytes = 0, sent_again = 0;
  // That came to the receivers; where their port is not here, as `sent`.
  uint64_t received = 0, received_bytes = 0, received_again = 0;
  uint64_t marked = 0; // received with CE
  // That came to the senders or to the wire: counts_cnps_at_senders().
  uint64_t cnps = 0;
  uint64_t naks = 0, timeouts = 0, failed = 0; // of the requester; failed: messages
  // Sums over QPs whose rate is controlled; alpha: their mean.
  uint64_t cuts = 0;
  double rate = 0, target = 0, alpha = 0;
  bool controlled = false;
  uint32_t qp = 0; // of other hosts' flows: the first QPN; 0: none was seen

  uint64_t accepted() const { return received - received_again; }
};

// At one time.
struct Reading {
  uint64_t t_ns = 0; // CLOCK_MONOTONIC
  std::vector<FlowCounts> flows;
  bool counted = true;                               // at a port that the requests enter
  std::shared_ptr<const WirePortCounts> left, right; // of the wire's ports
  uint64_t frames = 0;     // that senders sent, where there is no wire here
  uint64_t other_qps = 0;  // that sent requests and are of no flow
  uint64_t other_cnps = 0; // of no flow: their QP's requests or answers are not known
};

struct PortSnapshots; // open ports

class Counter {
public:
  // The ports that are here are attached.
  static Result<Counter> open(const Plan &plan, const RunPorts &ports);
  Counter(Counter &&) noexcept;
  ~Counter();

  // Without the wire's counts.
  Result<Reading> read(const SendReport &sender);
  // Later readings count from this one on, where the ports were in use before.
  void count_from(const Reading &reading) { before_ = reading.flows; }

private:
  using Key = std::array<uint32_t, 9>; // roce_key
  Counter(const Plan &plan, bool sends_here, std::unique_ptr<PortSnapshots> ports);
  void find_qps(const Snapshot &snapshot);
  FlowCounts *flow_of(Reading &reading, const roce_stream &stream) const;
  FlowCounts *flow_with_answers(Reading &reading, const roce_stream &stream) const;
  void add_sent(Reading &reading, const Snapshot &snapshot) const;
  void add_received(Reading &reading, const Snapshot &snapshot, bool alone) const;
  void add_answers(Reading &reading, const Snapshot &snapshot) const;
  void add_sender(Reading &reading, const SendReport &sender, bool counts) const;

  std::unique_ptr<PortSnapshots> ports_;
  bool ours_ = true, sends_here_ = true;
  uint32_t first_qp_ = 0;
  std::vector<uint32_t> flow_of_qp_; // index: QPN - first_qp_; of other hosts: the QPs' order
  std::vector<FlowCounts> before_;
  // Other hosts' QPs: requests in their order, and the key of the CNPs to their senders.
  std::map<Key, uint32_t> order_, answers_;
};

} // namespace xr::places
