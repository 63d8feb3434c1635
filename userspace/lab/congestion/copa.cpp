// SPDX-License-Identifier: Apache-2.0
#include "congestion/copa.h"

#include <algorithm>

namespace xr::congestion {

namespace {

constexpr double kCopaSmoothing = 1.0 / 8;
constexpr int kSureAfter = 3; // rounds in one direction until the velocity doubles
constexpr double kMostVelocity = 1e6;
constexpr double kMostBdps = 4; // in a window, beside the packets that stay in the queue

} // namespace

Copa::Copa(std::shared_ptr<const CopaSettings> settings, const xdp_roce_qp &qp)
    : RatedControl(settings->line), settings_(std::move(settings)), payload_(qp.payload),
      frame_(qp.frame) {
  window_ = round_window_ = settings_->start_window;
  limit(static_cast<uint64_t>(window_ * payload_));
}

// A share of the line needs one BDP and 1/delta packets. The rest is for RTTs that grow by queues
// of others.
double Copa::largest_window() const {
  const double bdp = settings_->line * static_cast<double>(base_.least()) / (8e9 * frame_);
  return std::max(kMostBdps * bdp + 1 / settings_->delta, settings_->start_window);
}

// It is paced at two windows in an RTT.
void Copa::set_window(uint64_t now, double window) {
  window_ = std::max(window, settings_->min_window);
  const double rate =
      2 * window_ * frame_ * 8e9 / static_cast<double>(std::max<uint64_t>(standing_ns_, 1));
  set_bps(now, std::min(rate, settings_->line));
  limit(static_cast<uint64_t>(window_ * payload_));
}

// Once a window: whether it went the same way three times.
void Copa::end_round(const Ack &ack) {
  if (ack.acked <= round_end_)
    return;
  const int direction = window_ > round_window_ ? 1 : window_ < round_window_ ? -1 : 0;
  same_direction_ = direction && direction == direction_ ? same_direction_ + 1 : 0;
  velocity_ = same_direction_ >= kSureAfter ? std::min(2 * velocity_, kMostVelocity) : 1;
  direction_ = direction;
  round_window_ = window_;
  round_end_ = ack.sent;
}

void Copa::acked(const Ack &ack) {
  if (!ack.rtt_ns)
    return;
  const auto rtt = static_cast<double>(ack.rtt_ns);
  smoothed_ = smoothed_ > 0 ? smoothed_ + kCopaSmoothing * (rtt - smoothed_) : rtt;
  base_.add(ack.now_ns, ack.rtt_ns, settings_->min_rtt_window_ns);
  standing_.add(ack.now_ns, ack.rtt_ns, static_cast<uint64_t>(smoothed_ / 2));
  standing_ns_ = standing_.least();
  queueing_ns_ = static_cast<double>(standing_ns_ - std::min(standing_ns_, base_.least()));
  const double packets = static_cast<double>(ack.bytes) / payload_;
  // Rates in packets a second; the target has no limit without a queue.
  const double current = window_ * 1e9 / static_cast<double>(standing_ns_);
  const bool below = queueing_ns_ == 0 || current <= 1e9 / (settings_->delta * queueing_ns_);
  slow_start_ = slow_start_ && below;
  // Slow start may go ahead of what is in flight, by twice at most (as Linux has it).
  const bool limited = use_.limits(ack, window_ * payload_ / (slow_start_ ? 2 : 1), payload_);
  const double most = std::max(largest_window(), settings_->min_window);
  if (below && !limited)
    velocity_ = 1;
  else if (below && slow_start_)
    set_window(ack.now_ns, std::min(window_ + packets, most));
  else {
    const double step = velocity_ * packets / (settings_->delta * window_);
    // A step the other way begins with a velocity of 1.
    if ((below ? 1 : -1) != direction_ && velocity_ > 1)
      velocity_ = 1;
    set_window(ack.now_ns,
               below ? std::min(window_ + step, most) : std::max(window_ - step, window_ / 2));
  }
  if (!below || limited)
    (below ? additive_ : cuts_)++;
  end_round(ack);
}

// Loss is not what Copa follows: only a timeout resets the window.
void Copa::lost(uint64_t now, Loss loss) {
  if (loss != XDP_ROCE_TIMEOUT)
    return;
  cuts_++;
  velocity_ = 1;
  set_window(now, settings_->min_window);
}

std::span<const char *const> Copa::names() const {
  static constexpr const char *kNames[] = {"window_packets", "queueing_delay_ns", "velocity"};
  return kNames;
}

void Copa::read(uint64_t, double *values) {
  values[0] = window_;
  values[1] = queueing_ns_;
  values[2] = velocity_;
}

} // namespace xr::congestion
