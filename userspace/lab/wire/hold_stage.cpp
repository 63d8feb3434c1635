// SPDX-License-Identifier: Apache-2.0
#include "wire/hold_stage.h"

#include <algorithm>

namespace xr::wire {

namespace {

constexpr size_t kBatch = 64; // frames that take() makes ready at once: they stay in the cache

} // namespace

HoldStage::HoldStage(size_t frames) : frames_(frames) {}

void HoldStage::set_rule(uint16_t slot, const Hold &hold, uint64_t seed, HoldCounts *counts,
                         std::optional<uint16_t> replaced) {
  const uint32_t former = rule_of(replaced.value_or(slot));
  const uint64_t not_before = former == kNone ? 0 : rules_[former]->hold->last_due();
  sweep();
  remove_rule(slot);
  remove_rule(replaced.value_or(slot));
  auto made = make_hold_rule(frames_, hold, seed, not_before);
  if (!made)
    return;
  auto rule = std::make_unique<Rule>();
  rule->hold = std::move(made);
  rule->counts = counts ? counts : &rule->own;
  auto place = std::find(rules_.begin(), rules_.end(), nullptr);
  if (place == rules_.end())
    place = rules_.emplace(place);
  *place = std::move(rule);
  const auto index = static_cast<uint32_t>(place - rules_.begin());
  active_.push_back(index);
  if (slot >= slots_.size())
    slots_.resize(slot + size_t{1}, kNone);
  slots_[slot] = index;
  if (former != kNone) {
    rules_[former]->successor = index;
    rules_[index]->users++;
  }
}

void HoldStage::remove_rule(uint16_t slot) {
  const uint32_t index = rule_of(slot);
  if (index == kNone)
    return;
  slots_[slot] = kNone;
  rules_[index]->removed = true;
  unused_ |= !rules_[index]->users;
}

const HoldCounts *HoldStage::counts(uint16_t slot) const {
  const uint32_t index = rule_of(slot);
  return index == kNone ? nullptr : rules_[index]->counts;
}

// Frees removed rules that nothing leads to.
void HoldStage::sweep() {
  while (unused_) {
    unused_ = false;
    std::erase_if(active_, [this](uint32_t index) {
      if (!rules_[index]->removed || rules_[index]->users)
        return false;
      const uint32_t successor = rules_[index]->successor;
      rules_[index].reset();
      if (successor != kNone)
        put_down(successor);
      return true;
    });
  }
}

void HoldStage::put_down(uint32_t rule) {
  if (--rules_[rule]->users == 0 && rules_[rule]->removed)
    unused_ = true;
}

uint32_t HoldStage::path_of(std::span<const HeldBy> rules) {
  uint32_t path = kNone;
  for (size_t i = rules.size(); i-- > 0;) {
    const uint32_t rule = rule_of(rules[i].slot);
    if (rule == kNone)
      continue;
    uint32_t at = free_step_;
    if (at == kNone) {
      at = static_cast<uint32_t>(steps_.size());
      steps_.emplace_back();
    } else {
      free_step_ = steps_[at].next;
    }
    steps_[at] = {rule, rules[i].selected, path};
    rules_[rule]->users++;
    path = at;
  }
  return path;
}

void HoldStage::add(uint64_t now, const Frame &frame, std::span<const HeldBy> rules) {
  sweep();
  run(now, frame.arrived, SIZE_MAX);
  const uint32_t index = frames_.take();
  Held &held = frames_[index];
  held.frame = frame;
  held.frame.due = held.asked = frame.arrived;
  held.sequence = sequence_++;
  held.rule = held.path = kNone;
  held_++;
  if (rules.size() == 1 && rule_of(rules[0].slot) != kNone)
    return enter(now, index, rule_of(rules[0].slot), rules[0].selected);
  held.path = path_of(rules);
  walk(now, index);
}

// Lets go what is due up to `until`, in the order of Due.
void HoldStage::run(uint64_t now, uint64_t until, size_t most_ready) {
  while (earliest_ <= until && ready_count_ < most_ready) {
    Rule *first = nullptr;
    Due due, second;
    for (const uint32_t index : active_) {
      const Due next = rules_[index]->hold->next();
      if (next < due) {
        second = due;
        due = next;
        first = rules_[index].get();
      } else if (next < second) {
        second = next;
      }
    }
    earliest_ = due.time;
    if (!first || due.time > until)
      return;
    entered_ = false;
    do {
      const uint32_t index = first->hold->pop();
      leave(now, index, first->hold->timed_out());
      due = first->hold->next();
    } while (!entered_ && due.time <= until && due < second && ready_count_ < most_ready);
  }
}

// A frame has left its rule at its `due`.
void HoldStage::leave(uint64_t now, uint32_t index, bool timed_out) {
  const Held &held = frames_[index];
  HoldCounts &counts = *rules_[held.rule]->counts;
  counts.timeouts += timed_out;
  counts.backlog_frames--;
  counts.backlog_bytes -= held.frame.length;
  walk(now, index);
}

// Through the rest of its path, as far as the frame comes without being held.
void HoldStage::walk(uint64_t now, uint32_t index) {
  const uint32_t at = frames_[index].path;
  if (at == kNone)
    return finish(index);
  const Step step = steps_[at];
  frames_[index].path = step.next;
  steps_[at].next = free_step_;
  free_step_ = at;
  uint32_t rule = step.rule;
  while (rule != kNone && rules_[rule]->removed)
    rule = rules_[rule]->successor;
  if (rule == kNone)
    walk(now, index);
  else
    enter(now, index, rule, step.selected);
  put_down(step.rule);
}

void HoldStage::enter(uint64_t now, uint32_t index, uint32_t by, bool selected) {
  Rule &rule = *rules_[by];
  HoldCounts &counts = *rule.counts;
  Held &held = frames_[index];
  const uint32_t length = held.frame.length;
  const uint64_t late = std::max(now, held.frame.due) - held.asked; // of the rule that held it
  const HoldRule::Outcome outcome = rule.hold->enter(index, selected);
  counts.frames += selected;
  counts.bytes += selected ? length : 0;
  entered_ = true;
  switch (outcome) {
  case HoldRule::Outcome::Passes:
    walk(now, index); // before the frames that it releases
    break;
  case HoldRule::Outcome::Full:
    counts.dropped_frames++;
    counts.dropped_bytes += length;
    drop(now, index);
    break;
  case HoldRule::Outcome::Held:
    left_rule(held.rule, late);
    earliest_ = std::min(earliest_, held.frame.due);
    held.rule = by;
    rule.users++;
    counts.backlog_frames++;
    counts.backlog_bytes += length;
    counts.most_frames = std::max(counts.most_frames, counts.backlog_frames);
    counts.most_bytes = std::max(counts.most_bytes, counts.backlog_bytes);
    break;
  }
  for (uint32_t released = kNone; rule.hold->take_released(released);)
    leave(now, released, false);
}

// A frame goes on that `rule` held last; kNone: it was not held yet.
void HoldStage::left_rule(uint32_t rule, uint64_t late) {
  if (rule == kNone)
    return;
  rules_[rule]->counts->late.add(late);
  put_down(rule);
}

void HoldStage::drop(uint64_t now, uint32_t index) {
  const Held &held = frames_[index];
  left_rule(held.rule, std::max(now, held.frame.due) - held.asked);
  for (uint32_t at = held.path; at != kNone;) {
    const uint32_t next = steps_[at].next;
    put_down(steps_[at].rule);
    steps_[at].next = free_step_;
    free_step_ = at;
    at = next;
  }
  dropped_.push({held.frame, HoldDrop::Queue});
  frames_.give_back(index);
}

void HoldStage::finish(uint32_t index) {
  ready_.push(frames_, index);
  ready_count_++;
}

uint64_t HoldStage::next() const {
  if (!ready_.empty())
    return frames_[ready_.first()].frame.due;
  if (!dropped_.empty())
    return dropped_.front().frame.due;
  uint64_t time = kNever;
  for (const uint32_t index : active_)
    time = std::min(time, rules_[index]->hold->next().time);
  return time;
}

bool HoldStage::take(uint64_t now, Frame &frame) {
  if (ready_.empty()) {
    sweep();
    run(now, now, kBatch);
  }
  if (ready_.empty())
    return false;
  const uint32_t index = ready_.pop(frames_);
  const Held &held = frames_[index];
  frame = held.frame;
  left_rule(held.rule, std::max(now, frame.due) - held.asked);
  frames_.give_back(index);
  ready_count_--;
  held_--;
  return true;
}

bool HoldStage::take_dropped(Frame &frame, HoldDrop &cause) {
  if (dropped_.empty())
    return false;
  frame = dropped_.front().frame;
  cause = dropped_.front().cause;
  dropped_.pop();
  held_--;
  return true;
}

} // namespace xr::wire
