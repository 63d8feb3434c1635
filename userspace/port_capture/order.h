// SPDX-License-Identifier: Apache-2.0
// Frames of several CPUs in the order in which they came, each with what became of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "roce/capture.h"

namespace xr::port_capture {

struct Frame {
  roce_capture what{};
  std::vector<uint8_t> bytes;

  // The record that told what became of it did not get lost.
  bool known() const { return what.parts & ROCE_CAPTURE_OUTCOME; }
};

class Order {
public:
  // Records of one CPU come in its order.
  void add(unsigned cpu, const roce_capture &what, const uint8_t *bytes);

  // Hands over those that came before `horizon_ns`: a CPU whose records are all there has none any
  // more that is earlier.
  void release(uint64_t horizon_ns, const std::function<void(Frame)> &take);

  // Handed over behind a later one: its CPU was slower than anybody waits.
  uint64_t late() const { return late_; }

private:
  std::vector<std::deque<Frame>> cpus_;
  uint64_t last_ns_ = 0, late_ = 0;
};

} // namespace xr::port_capture
