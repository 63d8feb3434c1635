// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/histogram.h"

namespace xr::traffic {

// The first few QPNs that answers carried for which there is no QP here.
class StrayQps {
public:
  static constexpr size_t kMost = 4;

  void add(uint32_t qp) {
    if (std::find(qps_.begin(), qps_.end(), qp) != qps_.end())
      return;
    if (qps_.size() == kMost)
      more_ = true;
    else
      qps_.push_back(qp);
  }
  void add(const StrayQps &other) {
    for (const uint32_t qp : other.qps_)
      add(qp);
    more_ = more_ || other.more_;
  }
  const std::vector<uint32_t> &qps() const { return qps_; }
  bool more() const { return more_; }

private:
  std::vector<uint32_t> qps_;
  bool more_ = false;
};

// What a requester did and saw. `packets` and `bytes` (frames without FCS) are all that was handed
// out, faults and retransmissions included.
struct SendCounts {
  uint64_t packets = 0, bytes = 0;
  uint64_t messages = 0;      // open: handed out whole; reliable: completed
  uint64_t message_bytes = 0; // of those
  // faults on purpose
  uint64_t skipped = 0, repeated = 0, reordered = 0, bad_icrc = 0, bad_pad = 0, ghost_acks = 0;
  // reliable
  uint64_t retransmitted = 0, timeouts = 0, acks = 0, naks = 0, rnr_naks = 0, read_responses = 0,
           duplicate_acks = 0, stray = 0, failed_qps = 0, failed_messages = 0,
           bad_icrc_received = 0;
  // NAKs by their code (IBA vol. 1, 9.7.5.2.8); `naks` are PSN sequence errors, the others end a
  // QP.
  uint64_t invalid_naks = 0, access_naks = 0, operational_naks = 0;
  uint64_t cnps = 0;
  StrayQps stray_qps;      // of `stray`, those for which there is no QP
  uint64_t slipped_ns = 0; // schedule given up, summed over flows
  Histogram rtt_ns;        // from a packet with AckReq, sent once, to its ACK
  Histogram completion_ns; // of messages, first packet to last acknowledgement
};

inline void count_nak(SendCounts &counts, uint8_t code) {
  switch (code) {
  case 0:
    counts.naks++;
    break;
  case 2:
    counts.access_naks++;
    break;
  case 3:
    counts.operational_naks++;
    break;
  default: // invalid request, invalid RD request
    counts.invalid_naks++;
  }
}

inline void add(SendCounts &all, const SendCounts &one) {
  static constexpr uint64_t SendCounts::*kAll[] = {&SendCounts::packets,
                                                   &SendCounts::bytes,
                                                   &SendCounts::messages,
                                                   &SendCounts::message_bytes,
                                                   &SendCounts::skipped,
                                                   &SendCounts::repeated,
                                                   &SendCounts::reordered,
                                                   &SendCounts::bad_icrc,
                                                   &SendCounts::bad_pad,
                                                   &SendCounts::ghost_acks,
                                                   &SendCounts::retransmitted,
                                                   &SendCounts::timeouts,
                                                   &SendCounts::acks,
                                                   &SendCounts::naks,
                                                   &SendCounts::rnr_naks,
                                                   &SendCounts::read_responses,
                                                   &SendCounts::duplicate_acks,
                                                   &SendCounts::stray,
                                                   &SendCounts::failed_qps,
                                                   &SendCounts::failed_messages,
                                                   &SendCounts::bad_icrc_received,
                                                   &SendCounts::invalid_naks,
                                                   &SendCounts::access_naks,
                                                   &SendCounts::operational_naks,
                                                   &SendCounts::cnps,
                                                   &SendCounts::slipped_ns};
  for (const auto member : kAll)
    all.*member += one.*member;
  all.stray_qps.add(one.stray_qps);
  all.rtt_ns.merge(one.rtt_ns);
  all.completion_ns.merge(one.completion_ns);
}

} // namespace xr::traffic
