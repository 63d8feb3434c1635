// SPDX-License-Identifier: Apache-2.0
#include "wire/hold_rule.h"

#include <algorithm>

#include "wire/delay_line.h"
#include "wire/jitter.h"
#include "wire/stream_order.h"

namespace xr::wire {

namespace {

// A token bucket, exact: tokens are counted in 10^-9 bits, and no time is lost to rounding.
class TokenBucket {
public:
  // Bits per second, and bytes; both not 0. Full at first.
  TokenBucket(uint64_t rate, uint64_t burst)
      : rate_(static_cast<Tokens>(rate)), full_(tokens(burst)), held_(full_) {}

  // When a frame of `bytes` can leave: at `time` or later, and after those before it. One that is
  // longer than the bucket leaves when that is full.
  uint64_t departure(uint64_t time, uint64_t bytes) const {
    time = std::max(time, at_);
    const Tokens lacking = std::min(tokens(bytes), full_) - held(time);
    return lacking <= 0 ? time : time + static_cast<uint64_t>((lacking + rate_ - 1) / rate_);
  }
  // The frame leaves at `time`, which departure() returned.
  void send(uint64_t time, uint64_t bytes) {
    held_ = held(time) - tokens(bytes);
    at_ = time;
  }

private:
  using Tokens = __int128;

  static Tokens tokens(uint64_t bytes) { return static_cast<Tokens>(bytes) * 8 * 1'000'000'000; }
  Tokens held(uint64_t time) const {
    return std::min(full_, held_ + static_cast<Tokens>(time - at_) * rate_);
  }

  Tokens rate_, full_, held_; // held_ is negative after a frame that was longer than the bucket
  uint64_t at_ = 0;
};

class DelayRule final : public HoldRule {
public:
  DelayRule(HeldFrames &frames, const Hold &hold, uint64_t seed, uint64_t not_before)
      : HoldRule(frames), source_(hold, seed), line_(frames), not_before_(not_before),
        ordered_(!hold.unordered), varies_(hold.jitter != Jitter::None) {}

  Outcome enter(uint32_t index, bool selected) override {
    if (!selected)
      return Outcome::Passes;
    Held &held = frames_[index];
    const uint64_t now = held.frame.due;
    uint64_t due = held.asked = now + source_.draw(now);
    if (ordered_) {
      due = std::max(due, not_before_);
      if (varies_)
        due = order_.next(held.frame.stream, due, now);
    }
    held.frame.due = due;
    last_due_ = std::max(last_due_, due);
    line_.add(index);
    return Outcome::Held;
  }
  Due next() const override { return line_.next(); }
  uint32_t pop() override { return line_.pop(); }
  uint64_t last_due() const override { return last_due_; }

private:
  DelaySource source_;
  DelayLine line_;
  StreamOrder order_;
  uint64_t not_before_, last_due_ = not_before_;
  bool ordered_, varies_;
};

class ShapeRule final : public HoldRule {
public:
  ShapeRule(HeldFrames &frames, const Hold &hold)
      : HoldRule(frames), bucket_(hold.rate, hold.burst), line_(frames), queue_(hold.queue),
        overhead_(hold.overhead) {}

  Outcome enter(uint32_t index, bool selected) override {
    if (!selected)
      return Outcome::Passes;
    Frame &frame = frames_[index].frame;
    const uint64_t now = frame.due, bytes = frame.length + overhead_;
    const uint64_t due = bucket_.departure(now, bytes);
    if (due > now && waiting_ + frame.length > queue_)
      return Outcome::Full;
    bucket_.send(due, bytes);
    frame.due = frames_[index].asked = due;
    waiting_ += frame.length;
    line_.add(index);
    return Outcome::Held;
  }
  Due next() const override { return line_.next(); }
  uint32_t pop() override {
    const uint32_t index = line_.pop();
    waiting_ -= frames_[index].frame.length;
    return index;
  }

private:
  TokenBucket bucket_;
  DelayLine line_;
  uint64_t queue_, waiting_ = 0; // bytes
  uint32_t overhead_;
};

// What is common to rules that hold frames until others come, or a timeout passes.
class CountingRule : public HoldRule {
public:
  CountingRule(HeldFrames &frames, const Hold &hold) : HoldRule(frames), hold_(hold) {}

  Due next() const override { return list_.empty() ? Due{} : frames_.due(list_.first()); }
  bool timed_out() const override { return true; }

protected:
  // Until `timeout_ns` after the frame entered.
  void hold_until_timeout(uint32_t index) {
    Held &held = frames_[index];
    held.frame.due += hold_.timeout_ns;
    if (!list_.empty()) // entries may be slightly out of order
      held.frame.due = std::max(held.frame.due, frames_[list_.last()].frame.due);
    held.asked = held.frame.due;
    list_.push(frames_, index);
  }
  // A frame of a group: all leave when the first one does.
  void hold_with_group(uint32_t index) {
    Held &held = frames_[index];
    held.frame.due =
        list_.empty() ? held.frame.due + hold_.timeout_ns : frames_[list_.first()].frame.due;
    held.asked = held.frame.due;
    list_.push(frames_, index);
  }
  // Takes out the first frame, which leaves at `time`.
  uint32_t release(uint64_t time) {
    const uint32_t index = list_.pop(frames_);
    frames_[index].frame.due = frames_[index].asked = time;
    return index;
  }

  Hold hold_;
  HeldList list_;
};

class AccumulateRule final : public CountingRule {
public:
  using CountingRule::CountingRule;

  Outcome enter(uint32_t index, bool selected) override {
    if (!selected)
      return Outcome::Passes;
    const uint64_t now = frames_[index].frame.due;
    hold_with_group(index);
    if (hold_.frames && ++collected_ == hold_.frames) {
      full_at_ = now;
      full_ = true;
    }
    return Outcome::Held;
  }
  bool take_released(uint32_t &index) override {
    if (!full_)
      return false;
    index = release(full_at_);
    if (--collected_ == 0)
      full_ = false;
    return true;
  }
  uint32_t pop() override {
    collected_ -= hold_.frames ? 1 : 0;
    return list_.pop(frames_);
  }
  bool timed_out() const override { return hold_.frames != 0; }

private:
  uint32_t collected_ = 0;
  uint64_t full_at_ = 0;
  bool full_ = false; // the burst is leaving
};

// `reorder depth N`.
class DepthRule final : public CountingRule {
public:
  using CountingRule::CountingRule;

  Outcome enter(uint32_t index, bool selected) override {
    now_ = frames_[index].frame.due;
    matched_++;
    if (!selected)
      return Outcome::Passes;
    hold_until_timeout(index);
    frames_[index].asked = matched_ + hold_.depth;
    return Outcome::Held;
  }
  bool take_released(uint32_t &index) override {
    if (list_.empty() || frames_[list_.first()].asked > matched_)
      return false;
    index = release(now_);
    return true;
  }
  uint32_t pop() override { return release(frames_[list_.first()].frame.due); }

private:
  uint64_t matched_ = 0, now_ = 0;
};

// `reorder skip S take N hold H`, in turns.
class TurnsRule final : public CountingRule {
public:
  using CountingRule::CountingRule;

  Outcome enter(uint32_t index, bool selected) override {
    now_ = frames_[index].frame.due;
    if (taken_ == hold_.frames) {
      passed_++;
      return Outcome::Passes;
    }
    if (!selected)
      return Outcome::Passes;
    if (skipped_ < hold_.skip) {
      skipped_++;
      return Outcome::Passes;
    }
    taken_++;
    hold_with_group(index);
    return Outcome::Held;
  }
  bool take_released(uint32_t &index) override {
    if (passed_ < hold_.pass)
      return false;
    index = release(now_);
    begin_anew();
    return true;
  }
  uint32_t pop() override {
    const uint32_t index = list_.pop(frames_);
    begin_anew();
    return index;
  }

private:
  // After the last frame of the group.
  void begin_anew() {
    if (list_.empty())
      skipped_ = taken_ = passed_ = 0;
  }

  uint32_t skipped_ = 0, taken_ = 0, passed_ = 0;
  uint64_t now_ = 0;
};

} // namespace

std::unique_ptr<HoldRule> make_hold_rule(HeldFrames &frames, const Hold &hold, uint64_t seed,
                                         uint64_t not_before) {
  switch (hold.kind) {
  case Hold::Kind::None:
    break;
  case Hold::Kind::Delay:
    return std::make_unique<DelayRule>(frames, hold, seed, not_before);
  case Hold::Kind::Accumulate:
    return std::make_unique<AccumulateRule>(frames, hold);
  case Hold::Kind::Reorder:
    if (hold.depth)
      return std::make_unique<DepthRule>(frames, hold);
    return std::make_unique<TurnsRule>(frames, hold);
  case Hold::Kind::Shape:
    return std::make_unique<ShapeRule>(frames, hold);
  }
  return nullptr;
}

} // namespace xr::wire
