// SPDX-License-Identifier: Apache-2.0
// Merges the frames of all CPUs in the order of time, each with its outcome.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "roce/capture.h"

namespace xr::port_capture {

struct TracedFrame {
  roce_capture record{};
  std::vector<uint8_t> bytes;

  // False: the record with the outcome was lost.
  bool known() const { return record.parts & ROCE_CAPTURE_OUTCOME; }
};

class FrameMerger {
public:
  // Records of one CPU must be added in the order in which the CPU wrote them.
  void add(unsigned cpu, const roce_capture &record, const uint8_t *bytes);

  // Passes the frames before `horizon_ns` to `take`, in order of time. The records of each CPU are
  // ordered, so no earlier frame can follow once all records up to the horizon were added.
  void release(uint64_t horizon_ns, const std::function<void(TracedFrame)> &take);

  // Frames released after a later one, because the records of their CPU arrived too late.
  uint64_t late() const { return late_; }

private:
  std::vector<std::deque<TracedFrame>> cpus_;
  uint64_t last_ns_ = 0, late_ = 0;
};

} // namespace xr::port_capture
