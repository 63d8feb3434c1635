// SPDX-License-Identifier: Apache-2.0
#include "port_capture/order.h"

#include <algorithm>
#include <utility>

namespace xr::port_capture {

void Order::add(unsigned cpu, const roce_capture &what, const uint8_t *bytes) {
  if (cpu >= cpus_.size())
    cpus_.resize(cpu + 1);
  std::deque<Frame> &frames = cpus_[cpu];
  if (what.parts & ROCE_CAPTURE_FRAME) {
    frames.push_back({what, {bytes, bytes + what.captured}});
    return;
  }
  if (frames.empty() || frames.back().what.number != what.number)
    return;
  const uint32_t captured = frames.back().what.captured;
  frames.back().what = what;
  frames.back().what.captured = captured;
  frames.back().what.parts |= ROCE_CAPTURE_FRAME;
}

void Order::release(uint64_t horizon_ns, const std::function<void(Frame)> &take) {
  for (;;) {
    std::deque<Frame> *first = nullptr;
    for (std::deque<Frame> &frames : cpus_)
      if (!frames.empty() && (!first || frames.front().what.time_ns < first->front().what.time_ns))
        first = &frames;
    if (!first || first->front().what.time_ns >= horizon_ns)
      return;
    Frame frame = std::move(first->front());
    first->pop_front();
    late_ += frame.what.time_ns < last_ns_;
    last_ns_ = std::max(last_ns_, static_cast<uint64_t>(frame.what.time_ns));
    take(std::move(frame));
  }
}

} // namespace xr::port_capture
