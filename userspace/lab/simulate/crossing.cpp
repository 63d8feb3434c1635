// SPDX-License-Identifier: Apache-2.0
// Frames and pauses from one part of the network to another.
#include "base/prefetch.h"
#include "simulate/world.h"

namespace xr::simulate {

// All that the link has sent, with the times when it arrives: these are not in this window.
void Part::hand_over(uint32_t wire) {
  Port &port = *ports_[wire];
  Crossing::Box &box = world_.crossings_[port.crossing].boxes[world_.filling_];
  wire::Frame frame;
  while (port.link.take_sent(now_, frame)) {
    soonest_ = std::min(soonest_, frame.due);
    box.frames.push_back(frame);
  }
}

void Part::hand_over_pause(uint32_t wire, const Port::Pause &pause) {
  soonest_ = std::min(soonest_, pause.at);
  world_.crossings_[ports_[wire]->crossing].boxes[world_.filling_].pauses.push_back(pause);
}

void Part::take_boxes() {
  const unsigned filled = world_.filling_ ^ 1;
  const auto box_of = [&](size_t i) -> Crossing::Box & {
    return world_.crossings_[into_[i]].boxes[filled];
  };
  for (size_t i = 0; i < into_.size(); i++) {
    if (i + 4 < into_.size())
      prefetch(box_of(i + 4));
    if (i + 2 < into_.size())
      __builtin_prefetch(box_of(i + 2).frames.data());
    Crossing &crossing = world_.crossings_[into_[i]];
    Crossing::Box &box = crossing.boxes[filled];
    if (box.frames.empty() && box.pauses.empty())
      continue;
    for (const wire::Frame &frame : box.frames) {
      prefetch(pool_[frame.handle]);
      crossing.frames.push(frame);
    }
    for (const Port::Pause &pause : box.pauses)
      crossing.pauses.push(pause);
    box.frames.clear();
    box.pauses.clear();
    queue_.set_first(crossing.entity, next_of(crossing));
  }
}

uint64_t Part::next_of(const Crossing &crossing) {
  return std::min(crossing.frames.empty() ? kNever : crossing.frames.front().due,
                  crossing.pauses.empty() ? kNever : crossing.pauses.front().at);
}

void Part::run_crossing(uint32_t number) {
  Crossing &crossing = world_.crossings_[number];
  const Port &port = *ports_[crossing.wire];
  for (; !crossing.pauses.empty() && crossing.pauses.front().at <= now_; crossing.pauses.pop())
    pause_arrived(crossing.wire, crossing.pauses.front().frame);
  while (!crossing.frames.empty() && crossing.frames.front().due <= now_) {
    wire::Frame frame = crossing.frames.front();
    crossing.frames.pop();
    frame_arrived(port, crossing.wire, frame);
  }
  queue_.set_first(crossing.entity, next_of(crossing));
}

} // namespace xr::simulate
