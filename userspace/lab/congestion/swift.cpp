// SPDX-License-Identifier: Apache-2.0
#include "congestion/swift.h"

#include <algorithm>
#include <cmath>

namespace xr::congestion {

namespace {

constexpr double kSwiftSmoothing = 1.0 / 8; // of the RTT that paces a window below one packet

} // namespace

Swift::Swift(std::shared_ptr<const SwiftSettings> settings, const xdp_roce_qp &qp)
    : RatedControl(settings->line), settings_(std::move(settings)),
      path_target_ns_(settings_->base_target_ns + settings_->hop_ns * qp.switches),
      payload_(qp.payload), frame_(qp.frame) {
  set_window(0, settings_->start_window);
}

double Swift::target_ns(double window) const {
  const double flows = settings_->fs_alpha / std::sqrt(window) + settings_->fs_beta;
  return path_target_ns_ + std::clamp(flows, 0.0, settings_->fs_range_ns);
}

void Swift::set_window(uint64_t now, double window) {
  window_ = std::clamp(window, settings_->min_window, settings_->max_window);
  const double rtt = smoothed_ > 0 ? smoothed_ : settings_->base_target_ns;
  const double paced = window_ * frame_ * 8e9 / rtt;
  const double rate = window_ < 1 ? std::min(paced, settings_->line) : settings_->line;
  set_bps(now, rate);
  limit(window_ < 1 ? 1 : static_cast<uint64_t>(window_ * payload_));
}

void Swift::cut(uint64_t now, double factor) {
  set_window(now, window_ * std::max(factor, 1 - settings_->max_mdf));
  cuts_++;
}

// An RTT without a good delay is a congested one.
void Swift::end_round(const Ack &ack) {
  if (ack.acked <= round_end_)
    return;
  congested_rounds_ = good_delay_ || !round_end_ ? 0 : congested_rounds_ + 1;
  if (settings_->plb_after && congested_rounds_ >= settings_->plb_after) {
    take_path(++paths_);
    congested_rounds_ = 0;
  }
  good_delay_ = false;
  round_end_ = ack.sent;
}

void Swift::acked(const Ack &ack) {
  timeouts_ = 0;
  if (!ack.rtt_ns)
    return;
  const auto delay = static_cast<double>(ack.rtt_ns);
  smoothed_ = smoothed_ > 0 ? smoothed_ + kSwiftSmoothing * (delay - smoothed_) : delay;
  const double target = target_ns(window_);
  const double packets = static_cast<double>(ack.bytes) / payload_;
  const bool limited = use_.limits(ack, window_ * payload_, payload_);
  if (delay < target) {
    good_delay_ = true;
    if (limited) {
      additive_++;
      set_window(ack.now_ns, window_ + settings_->ai * packets / std::max(window_, 1.0));
    }
  } else if (ack.now_ns >= may_cut_at_) {
    cut(ack.now_ns, 1 - settings_->beta * (delay - target) / delay);
    may_cut_at_ = ack.now_ns + ack.rtt_ns;
  }
  end_round(ack);
}

void Swift::lost(uint64_t now, Loss loss) {
  if (loss == XDP_ROCE_TIMEOUT && ++timeouts_ >= settings_->kill_after) {
    cuts_++;
    return set_window(now, settings_->min_window);
  }
  if (now < may_cut_at_ && loss == XDP_ROCE_NAK)
    return;
  cut(now, 1 - settings_->max_mdf);
  may_cut_at_ = now + static_cast<uint64_t>(smoothed_);
}

std::span<const char *const> Swift::names() const {
  static constexpr const char *kNames[] = {"window_packets", "target_delay_ns", "paths"};
  return kNames;
}

void Swift::read(uint64_t, double *values) {
  values[0] = window_;
  values[1] = target_ns(window_);
  values[2] = paths_;
}

} // namespace xr::congestion
