// SPDX-License-Identifier: Apache-2.0
// The requester of reliable connections (RC, XRC): every message is completed or its QP has failed.
// Go-back-N on NAKs and timeouts, RNR NAKs waited for, READ responses lost asked for anew from the
// middle (IBA vol. 1, 9.7.5).
#pragma once

#include <memory>
#include <vector>

#include "flow/flow.h"
#include "requester/requester.h"

namespace xr::requester {

struct Reliability {
  uint32_t window = 256;     // packets unacknowledged, of a QP
  uint8_t timeout_code = 14; // retransmission timer 4.096 us * 2^code; 0: none
  uint8_t retries = 7;       // rounds without progress before a QP fails
  uint8_t rnr_retries = 7;   // 7: no end
  bool check_icrc = true;    // of what comes in; what is wrong is not looked at
  uint64_t drain_ns = 0;     // after duration_ns: outstanding messages may take so long; 0: no end
};

class ReliableSource : public Requester {
public:
  // As OpenSource; all flows are RC or XRC. Messages end a flow by number or by its duration: then
  // no new ones begin, and those that have begun are completed.
  ReliableSource(std::vector<flow::Flow> flows, const congestion::Rate &total, double line_bits,
                 const Reliability &reliability);
  ~ReliableSource() override;

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override;
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override;

  const SendCounts &counts() const override;
  double asked_pps() const override;
  // Messages, completed or failed.
  uint64_t expected() const override;
  uint64_t over() const override;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace xr::requester
