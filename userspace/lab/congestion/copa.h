// SPDX-License-Identifier: Apache-2.0
// Copa's window of one QP (NSDI'18, Arun and Balakrishnan): the window moves towards the rate
// 1 / (delta x queueing delay), faster while it moves one way. Without the competitive mode.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "congestion/rated_control.h"
#include "congestion/window_use.h"
#include "rate/table_parameters.h"

namespace xr::congestion {

// The least of the values of a sliding window of time.
class SlidingMinimum {
public:
  void add(uint64_t now, uint64_t value, uint64_t length) {
    while (!values_.empty() && values_.back().second >= value)
      values_.pop_back();
    values_.emplace_back(now, value);
    while (values_.front().first + length < now)
      values_.pop_front();
  }
  uint64_t least() const { return values_.front().second; } // after an add()

private:
  std::deque<std::pair<uint64_t, uint64_t>> values_; // times and values, both ascending
};

class Copa final : public RatedControl {
public:
  Copa(std::shared_ptr<const CopaSettings> settings, const xdp_roce_qp &qp);
  void acked(const Ack &ack) override;
  void lost(uint64_t now, Loss loss) override;
  std::span<const char *const> names() const override;
  void read(uint64_t now, double *values) override;

private:
  void set_window(uint64_t now, double window);
  void end_round(const Ack &ack);
  double largest_window() const; // packets

  std::shared_ptr<const CopaSettings> settings_;
  SlidingMinimum base_, standing_;
  WindowUse use_;
  double window_ = 1, velocity_ = 1, round_window_ = 0; // packets
  double smoothed_ = 0, queueing_ns_ = 0;               // RTT, delay, ns
  uint32_t payload_, frame_;
  uint64_t round_end_ = 0, standing_ns_ = 0;
  bool slow_start_ = true;
  int direction_ = 0, same_direction_ = 0; // of the last rounds
};

} // namespace xr::congestion
