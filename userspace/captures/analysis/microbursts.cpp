// SPDX-License-Identifier: Apache-2.0
#include "analysis/microbursts.h"

#include <utility>

namespace xr {

namespace {

// Windows slide over so many moments at a time: one window after the other, in registers.
constexpr uint64_t kTogether = 256;

} // namespace

void MicroburstMeter::grow() {
  std::vector<Moment> wider(2 * ring_.size());
  for (uint64_t number = windows_[0].tail; number < moments_; number++)
    wider[number & (wider.size() - 1)] = moment(number);
  ring_ = std::move(wider);
  mask_ = ring_.size() - 1;
}

// A window that ends with a moment is fullest when the moment is complete.
void MicroburstMeter::slide(Window &window) {
  uint64_t tail = window.tail, most = window.most.bytes;
  for (uint64_t number = slid_; number + 1 < moments_; number++) {
    const uint64_t now = moment(number).ns;
    while (now - moment(tail).ns >= window.ns)
      tail++;
    const Moment &after = moment(number + 1), &from = moment(tail);
    if (after.bytes_before - from.bytes_before > most) {
      most = after.bytes_before - from.bytes_before;
      window.most = {window.ns, most, after.frames_before - from.frames_before, from.ns};
    }
  }
  window.tail = tail;
}

void MicroburstMeter::slide_all() {
  for (Window &window : windows_)
    slide(window);
  slid_ = moments_ - 1;
}

void MicroburstMeter::begin_moment(uint64_t time_ns) {
  if (moments_ - windows_[0].tail == ring_.size())
    grow();
  moment(moments_++) = {time_ns, bytes_, frames_};
  last_ns_ = time_ns;
  if (moments_ - slid_ > kTogether)
    slide_all();
}

void MicroburstMeter::frame(uint64_t time_ns, uint32_t bytes) {
  if (!time_ns) {
    untimed_++;
    return;
  }
  if (time_ns > last_ns_) {
    if (!moments_)
      first_ns_ = time_ns;
    begin_moment(time_ns);
  } else {
    late_ += time_ns < last_ns_;
  }
  bytes_ += bytes;
  frames_++;
}

Microbursts MicroburstMeter::result() const {
  MicroburstMeter ended = *this;
  if (moments_) {
    ended.begin_moment(last_ns_ + 1); // completes the last one
    ended.slide_all();
  }
  Microbursts found;
  found.first_ns = first_ns_;
  found.untimed = untimed_;
  found.late = late_;
  for (auto window = ended.windows_.rbegin(); window != ended.windows_.rend(); ++window) {
    found.windows.push_back(window->most);
    found.windows.back().window_ns = window->ns;
  }
  return found;
}

} // namespace xr
