// SPDX-License-Identifier: Apache-2.0
// A rule that holds frames: which ones, and until when. hold_stage.h passes frames from one rule to
// the next.
#pragma once

#include <cstdint>
#include <memory>

#include "model/hold.h"
#include "wire/held_frames.h"

namespace xr::wire {

class HoldRule {
public:
  enum class Outcome : uint8_t { Passes, Held, Full };

  explicit HoldRule(HeldFrames &frames) : frames_(frames) {}
  virtual ~HoldRule() = default;
  HoldRule(const HoldRule &) = delete;
  HoldRule &operator=(const HoldRule &) = delete;

  // A frame that the rule matched enters at its `frame.due`. If it is held, the rule sets its
  // `asked`, and `frame.due` is when it leaves.
  virtual Outcome enter(uint32_t index, bool selected) = 0;
  // Takes out a frame that the one that just entered has released. False: none.
  virtual bool take_released(uint32_t &) { return false; }

  // When the first frame leaves unless others enter. kNever: none.
  virtual Due next() const = 0;
  // Takes out the frame of next().
  virtual uint32_t pop() = 0;
  // The frame that pop() returned left because of a timeout.
  virtual bool timed_out() const { return false; }

  // No frame was given a later time to leave.
  virtual uint64_t last_due() const { return 0; }

protected:
  HeldFrames &frames_;
};

// `not_before`: of the rule that this one replaces, to keep the order.
std::unique_ptr<HoldRule> make_hold_rule(HeldFrames &frames, const Hold &hold, uint64_t seed,
                                         uint64_t not_before);

} // namespace xr::wire
