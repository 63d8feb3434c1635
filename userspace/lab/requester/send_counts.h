// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/run_reports.h"

namespace xr::requester {

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

inline void add(SendCounts &all, const SendCounts &send_counts) {
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
                                                   &SendCounts::kept,
                                                   &SendCounts::kept_no_room,
                                                   &SendCounts::answer_bytes,
                                                   &SendCounts::invalid_naks,
                                                   &SendCounts::access_naks,
                                                   &SendCounts::operational_naks,
                                                   &SendCounts::cnps,
                                                   &SendCounts::ce,
                                                   &SendCounts::cnps_sent,
                                                   &SendCounts::cnps_paced,
                                                   &SendCounts::cnps_no_room,
                                                   &SendCounts::slipped_ns};
  for (const auto member : kAll)
    all.*member += send_counts.*member;
  all.stray_qps.add(send_counts.stray_qps);
  all.rtt_ns.merge(send_counts.rtt_ns);
  all.completion_ns.merge(send_counts.completion_ns);
}

} // namespace xr::requester
