// SPDX-License-Identifier: Apache-2.0
// Whether a QP's window limits it, or its application, its host's link or the responder does. A
// window that limits nothing says nothing about the path, so it must not grow (RFC 7661; Linux'
// tcp_is_cwnd_limited).
#pragma once

#include <algorithm>
#include <cstdint>

#include "congestion/rate_control.h"

namespace xr::congestion {

class WindowUse {
public:
  // Records an ACK. True: the bytes in flight filled the window in this round trip or the last one.
  bool limits(const Ack &ack, double window_bytes, uint32_t payload) {
    if (ack.acked > round_end_) {
      before_ = most_;
      most_ = 0;
      round_end_ = ack.sent;
    }
    most_ = std::max(most_, ack.sent - std::min(ack.sent, ack.acked) + ack.bytes);
    // A packet goes out while any part of the window is free; pacing may hold one back.
    return static_cast<double>(std::max(most_, before_) + uint64_t{2} * payload) > window_bytes;
  }

private:
  uint64_t most_ = 0, before_ = 0; // bytes in flight: of this round trip, of the last one
  uint64_t round_end_ = 0;
};

} // namespace xr::congestion
