// SPDX-License-Identifier: Apache-2.0
#include "congestion/dctcp.h"

#include <algorithm>

namespace xr::congestion {

// True: an RTT is over. The first one only begins.
bool Dctcp::end_round(const Ack &ack) {
  if (ack.acked <= round_end_)
    return false;
  if (round_end_ && packets_) {
    const double share = std::min(1.0, static_cast<double>(marked_) / packets_);
    alpha_ = (1 - settings_->g) * alpha_ + settings_->g * share;
  }
  round_end_ = ack.sent;
  packets_ = marked_ = 0;
  return true;
}

void Dctcp::acked(const Ack &ack) {
  packets_ += ack.packets;
  marked_ += ack.marked ? std::max(ack.packets, 1U) : 0;
  const bool round = end_round(ack);
  const bool recovering = recovered_at_ && ack.acked <= recovered_at_;
  if (!recovering)
    recovered_at_ = 0;
  if (ack.marked && !recovering) {
    set_bps(ack.now_ns, std::max(settings_->min_rate, bps() * (1 - alpha_ / 2)));
    cuts_++;
    recovered_at_ = ack.sent;
  } else if (round && !recovering) {
    if (bps() < settings_->line)
      additive_++;
    set_bps(ack.now_ns, std::min(settings_->line, bps() + settings_->ai));
  }
}

ControlState Dctcp::state(uint64_t now) const {
  ControlState state = RatedControl::state(now);
  state.alpha = alpha_;
  return state;
}

} // namespace xr::congestion
