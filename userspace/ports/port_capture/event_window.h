// SPDX-License-Identifier: Apache-2.0
// Selects the frames shortly before and after events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace xr {

// Windows may overlap: each frame is kept once, and the order is preserved.
template <typename Item> class EventWindow {
public:
  EventWindow(size_t before, size_t after) : before_(before), after_(after) {}

  // Calls `keep` for each frame now known to be in a window, and `drop` for each frame that can be
  // in no window.
  template <typename Keep, typename Drop>
  void add(Item frame, bool event, const Keep &keep, const Drop &drop) {
    if (event) {
      for (Item &earlier : waiting_)
        keep(std::move(earlier));
      waiting_.clear();
      left_ = after_;
      keep(std::move(frame));
    } else if (left_) {
      left_--;
      keep(std::move(frame));
    } else {
      waiting_.push_back(std::move(frame));
      if (waiting_.size() > before_) {
        drop(std::move(waiting_.front()));
        waiting_.pop_front();
      }
    }
  }

  // End of input: drops the frames that still wait for an event.
  template <typename Drop> void finish(const Drop &drop) {
    for (Item &frame : waiting_)
      drop(std::move(frame));
    waiting_.clear();
  }

private:
  size_t before_, after_, left_ = 0;
  std::deque<Item> waiting_; // at most before_
};

} // namespace xr
