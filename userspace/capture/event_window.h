// SPDX-License-Identifier: Apache-2.0
// Of all that passes, what comes just before and after events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace xr {

// Windows may overlap: each frame is kept once, and all in order.
template <typename Frame> class Around {
public:
  Around(size_t before, size_t after) : before_(before), after_(after) {}

  // Calls `keep` with each frame that is known to be wanted by now, `drop` with each that no event
  // can want any more.
  template <typename Keep, typename Drop>
  void add(Frame frame, bool event, const Keep &keep, const Drop &drop) {
    if (event) {
      for (Frame &earlier : waiting_)
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

  // No more is to come.
  template <typename Drop> void finish(const Drop &drop) {
    for (Frame &frame : waiting_)
      drop(std::move(frame));
    waiting_.clear();
  }

private:
  size_t before_, after_, left_ = 0;
  std::deque<Frame> waiting_; // before_ at most
};

} // namespace xr
