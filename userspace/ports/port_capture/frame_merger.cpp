// SPDX-License-Identifier: Apache-2.0
#include "port_capture/frame_merger.h"

#include <algorithm>
#include <utility>

namespace xr::port_capture {

void FrameMerger::add(unsigned cpu, const roce_capture &record, const uint8_t *bytes) {
  if (cpu >= cpus_.size())
    cpus_.resize(cpu + 1);
  std::deque<TracedFrame> &frames = cpus_[cpu];
  if (record.parts & ROCE_CAPTURE_FRAME) {
    frames.push_back({record, {bytes, bytes + record.captured}});
    return;
  }
  if (frames.empty() || frames.back().record.number != record.number)
    return;
  const uint32_t captured = frames.back().record.captured;
  frames.back().record = record;
  frames.back().record.captured = captured;
  frames.back().record.parts |= ROCE_CAPTURE_FRAME;
}

void FrameMerger::release(uint64_t horizon_ns, const std::function<void(TracedFrame)> &take) {
  for (;;) {
    std::deque<TracedFrame> *first = nullptr;
    for (std::deque<TracedFrame> &frames : cpus_)
      if (!frames.empty() &&
          (!first || frames.front().record.time_ns < first->front().record.time_ns))
        first = &frames;
    if (!first || first->front().record.time_ns >= horizon_ns)
      return;
    TracedFrame frame = std::move(first->front());
    first->pop_front();
    late_ += frame.record.time_ns < last_ns_;
    last_ns_ = std::max(last_ns_, static_cast<uint64_t>(frame.record.time_ns));
    take(std::move(frame));
  }
}

} // namespace xr::port_capture
