// SPDX-License-Identifier: Apache-2.0
// Active queue management: decides from the length of a queue which frames get CE or are dropped.
#pragma once

#include <cstdint>

#include "model/link.h"
#include "wire/frame.h"

namespace xr::wire {

class Aqm {
public:
  enum class Verdict : uint8_t { Pass, Mark, Drop };

  // `frame_ns`: the time that a typical frame takes, by which RED's average ages while the queue is
  // empty; 0: it becomes 0 at once. The state is kept if the kind stays the same.
  void configure(const LinkAqm &spec, uint64_t frame_ns, uint64_t now);
  bool on() const { return spec_.kind != LinkAqm::Kind::None; }
  bool at_enqueue() const { return spec_.at_enqueue; }

  // Every frame passes at this length, and nothing has to be remembered about it.
  bool passes(uint64_t length) const {
    switch (spec_.kind) {
    case LinkAqm::Kind::None:
      return true;
    case LinkAqm::Kind::Red:
      return length <= spec_.low && spec_.weight >= 1;
    case LinkAqm::Kind::Step:
      return length <= spec_.low;
    case LinkAqm::Kind::Blue:
      break;
    }
    return false;
  }
  // What happens to `frame`, with `length` bytes in the queue besides it. `random`: 64 random bits.
  Verdict decide(uint64_t now, uint64_t length, const Frame &frame, uint64_t random);
  // A frame was lost for want of room.
  void lost(uint64_t now);
  // The queue and the link are empty from `now` on, and busy again from `now` on.
  void idle(uint64_t now) { idle_since_ = now; }
  void busy(uint64_t now) {
    if (idle_since_ < now) // not if it is filled again before the last frame has left
      age(now);
    idle_since_ = kNever;
  }

  double average() const { return average_; }         // red: bytes
  double probability() const { return probability_; } // blue

private:
  bool congested(uint64_t now, uint64_t length, uint64_t random);
  bool red(uint64_t length, uint64_t random);
  void age(uint64_t now);

  uint64_t idle_since_ = kNever;
  LinkAqm spec_;
  uint64_t slope_ = 0; // red: probability of each byte above KMIN, * 2^64
  uint64_t frame_ns_ = 0;
  double average_ = 0;
  double probability_ = 0;
  uint64_t changed_ = 0; // blue: when the probability was changed
};

} // namespace xr::wire
