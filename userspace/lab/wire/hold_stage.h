// SPDX-License-Identifier: Apache-2.0
// The rules of one direction that hold frames, as a pipeline: a frame passes those that matched it
// in the order in which add() names them, and leaves. Virtual time: `now` must not decrease; what
// happens between two calls is computed at the next call, for the time at which it was due, so that
// a driver that is late does not change by which order and delays frames leave.
//
//   add() -> accumulate, reorder, delay or shape of rule 1 -> of rule 2 ... -> take()
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ring.h"
#include "model/hold.h"
#include "wire/hold_rule.h"

namespace xr::wire {

// A rule that matched a frame.
struct HeldBy {
  uint16_t slot;
  bool selected; // otherwise `reorder` counts it only
};

class HoldStage {
public:
  // Memory for `frames` held at once: 64 bytes each. For more it grows.
  explicit HoldStage(size_t frames = 0);

  // Sets the rule of `slot`, also for frames on their way to an earlier rule there. Frames that the
  // earlier rule holds leave in their time. A delay that replaces one keeps the order of the frames
  // of both. `seed`: of its random choices. `counts`: where to count, valid as long as the stage;
  // otherwise it counts in itself. `replaced`: the slot of the earlier rule, if it is another one.
  void set_rule(uint16_t slot, const Hold &hold, uint64_t seed, HoldCounts *counts = nullptr,
                std::optional<uint16_t> replaced = {});
  // Frames do not pass it any more; those that it holds leave in their time, or at its timeout.
  void remove_rule(uint16_t slot);
  // The counts of the rule in the slot; null: there is none.
  const HoldCounts *counts(uint16_t slot) const;

  // A frame enters, at `frame.arrived` <= now. Slots without a rule are passed.
  void add(uint64_t now, const Frame &frame, std::span<const HeldBy> rules);
  // When take() must be called next: a frame leaves, or enters its next rule. It may be in the
  // past. kNever: not before another add().
  uint64_t next() const;
  // A frame that has passed its rules at `frame.due` <= now. In the order of `due`, except a frame
  // that was added after the time at which it should have left. False: none.
  bool take(uint64_t now, Frame &frame);
  // A frame that was dropped, and counted by its rule. False: none.
  bool take_dropped(Frame &frame, HoldDrop &cause);

  size_t held() const { return held_; } // frames that take() and take_dropped() have not returned

private:
  // Kept until its last frame has left.
  struct Rule {
    std::unique_ptr<HoldRule> hold;
    HoldCounts own;
    HoldCounts *counts = nullptr;
    bool removed = false;
    uint32_t successor = kNone; // paths that lead to a replaced rule go there
    uint32_t users = 0;         // frames that it held last; paths and rules that lead to it
  };
  // The rules that a frame has still to pass: a list.
  struct Step {
    uint32_t rule;
    bool selected;
    uint32_t next;
  };
  struct Dropped {
    Frame frame;
    HoldDrop cause;
  };

  uint32_t rule_of(uint16_t slot) const { return slot < slots_.size() ? slots_[slot] : kNone; }
  uint32_t path_of(std::span<const HeldBy> rules);
  void run(uint64_t now, uint64_t until, size_t most_ready);
  void leave(uint64_t now, uint32_t index, bool timed_out);
  void walk(uint64_t now, uint32_t index);
  void enter(uint64_t now, uint32_t index, uint32_t by, bool selected);
  void finish(uint32_t index);
  void drop(uint64_t now, uint32_t index);
  void left_rule(uint32_t rule, uint64_t late);
  void put_down(uint32_t rule);
  void sweep();

  HeldFrames frames_;
  std::vector<std::unique_ptr<Rule>> rules_;
  std::vector<uint32_t> active_; // indices of rules_ in use
  std::vector<uint32_t> slots_;  // slot -> index of rules_
  std::vector<Step> steps_;
  uint32_t free_step_ = kNone;
  HeldList ready_; // have passed their rules
  size_t ready_count_ = 0;
  Ring<Dropped> dropped_;
  size_t held_ = 0;
  uint32_t sequence_ = 0;
  uint64_t earliest_ = kNever; // nothing leaves a rule before it
  bool entered_ = false;       // a rule got a frame, so that its next() may have changed
  bool unused_ = false;        // a removed rule has no users
};

} // namespace xr::wire
