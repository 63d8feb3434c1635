// SPDX-License-Identifier: Apache-2.0
// The way of frames through a link: in, queue, out. What changes its settings is in
// link_settings.cpp.
#include "wire/link.h"

#include <algorithm>
#include <bit>

namespace xr::wire {

uint32_t Link::new_slot() {
  if (free_ == kNone) {
    slots_.emplace_back();
    return static_cast<uint32_t>(slots_.size()) - 1;
  }
  const uint32_t index = free_;
  free_ = slots_[index].next;
  return index;
}

void Link::free_slot(uint32_t index) {
  slots_[index].next = free_;
  free_ = index;
}

void Link::append(Fifo &fifo, uint32_t index) {
  slots_[index].next = kNone;
  if (fifo.empty())
    fifo.head = index;
  else
    slots_[fifo.tail].next = index;
  fifo.tail = index;
}

uint32_t Link::remove_first(Fifo &fifo) {
  const uint32_t index = fifo.head;
  fifo.head = slots_[index].next;
  return index;
}

unsigned Link::class_of(const Frame &frame) const {
  if (one_class_ && frame.pcp == kNoPcp)
    return 0;
  if (frame.pcp != kNoPcp && (!spec_.by_dscp || frame.dscp == kNoDscp))
    return frame.pcp & (kLinkClasses - 1);
  return frame.dscp == kNoDscp ? 0 : spec_.map[frame.dscp & 63];
}

// Until now the backlog was what backlog_ says.
void Link::count_backlog(uint64_t now) {
  if (now > counted_at_) {
    if (times_)
      times_->backlog.add(backlog_, now - counted_at_);
    else if (backlog_)
      backlog_sizes_.add(backlog_, now - counted_at_);
    else
      zero_ns_ += now - counted_at_;
    counted_at_ = now;
  }
}

LinkDrop Link::refuse(LinkClassCounts &counts, const Frame &frame, LinkDrop cause) {
  counts.drops[static_cast<unsigned>(cause)]++;
  counts.dropped_bytes += frame.length;
  return cause;
}

// False: AQM drops the frame.
bool Link::marked_or_passed(uint64_t now, Queue &queue, Frame &frame, LinkClassCounts &counts) {
  const uint64_t number = draws_++;
  if (queue.aqm.passes(queue.bytes))
    return true;
  switch (queue.aqm.decide(now, queue.bytes, frame, draw(seed_, number))) {
  case Aqm::Verdict::Drop:
    return false;
  case Aqm::Verdict::Mark:
    frame.ecn = kCe;
    frame.marked = true;
    counts.marks++;
    break;
  case Aqm::Verdict::Pass:
    break;
  }
  return true;
}

LinkDrop Link::enqueue(uint64_t now, const Frame &frame) {
  run(now);
  const unsigned priority = class_of(frame);
  LinkClassCounts &counts = counts_->classes[priority];
  counts.frames_in++;
  counts.bytes_in += frame.length;
  if (down_)
    return refuse(counts, frame, LinkDrop::Down);
  if (limited_ && ip_bytes(frame) > spec_.mtu)
    return refuse(counts, frame, LinkDrop::Mtu);
  Queue &queue = queue_at(queue_of(priority));
  if (send_at_once(frame, priority, queue, counts))
    return LinkDrop::None;
  if (!queue.bytes)
    queue.aqm.busy(clock_);
  bool headroom = false;
  LinkDrop cause = LinkDrop::Share;
  const uint64_t own = std::min<uint64_t>(frame.length, queue.unused());
  if (queue.bytes + frame.length <= queue.share)
    cause = buffer_->admit(clock_, frame.ingress, priority, frame.length, own, headroom);
  if (cause != LinkDrop::None) {
    queue.aqm.lost(clock_);
    return refuse(counts, frame, cause);
  }
  if (queue.aqm.at_enqueue()) {
    Frame copy = frame;
    if (!marked_or_passed(clock_, queue, copy, counts)) {
      buffer_->release(clock_, frame.ingress, priority, frame.length, own, headroom);
      return refuse(counts, frame, LinkDrop::Aqm);
    }
    push(copy, priority, headroom);
  } else {
    push(frame, priority, headroom);
  }
  serve_until(clock_);
  counts.backlog_most = std::max(counts.backlog_most, counts.backlog_bytes);
  counts_->backlog_most = std::max(counts_->backlog_most, backlog_);
  counts_->headroom_most = std::max(counts_->headroom_most, buffer_->headroom_used());
  return LinkDrop::None;
}

// The common case of a link that is idle: what entering and leaving the queue at one time does, in
// short. False: it is another case, and nothing was done.
bool Link::send_at_once(const Frame &frame, unsigned priority, Queue &queue,
                        LinkClassCounts &counts) {
  if (backlogged_ | paused_ | declared_ || bits_.free_at() > clock_ || traced_ ||
      queue.aqm.at_enqueue() || !queue.aqm.passes(0) || frame.length > queue.share ||
      !buffer_->passes(frame.length))
    return false;
  const uint32_t index = new_slot();
  Slot &slot = slots_[index];
  slot.frame = frame;
  slot.entered = clock_;
  slot.priority = static_cast<uint8_t>(priority);
  number_++;
  draws_ += queue.aqm.on();
  count_backlog(clock_);
  counts.frames_out++;
  counts.bytes_out += frame.length;
  counts_->wire_frames++;
  counts_->wire_bytes += frame.length;
  uint64_t finished = clock_;
  if (rated_) {
    finished = bits_.send(clock_, frame.length + overhead_);
    counts_->busy_ns += finished - clock_;
  }
  sent(index, clock_, finished);
  return true;
}

void Link::push(const Frame &frame, unsigned priority, bool headroom) {
  const uint32_t index = new_slot();
  Slot &slot = slots_[index];
  slot.frame = frame;
  slot.entered = clock_;
  slot.number = number_++;
  slot.priority = static_cast<uint8_t>(priority);
  slot.headroom = headroom;
  count_backlog(clock_);
  append(fifos_[priority], index);
  backlogged_ |= 1U << priority;
  backlog_ += frame.length;
  Queue &queue = queue_at(queue_of(priority));
  queue.bytes += frame.length;
  queue.buffered += headroom ? 0 : frame.length;
  counts_->classes[priority].backlog_frames++;
  counts_->classes[priority].backlog_bytes += frame.length;
}

uint32_t Link::pop(uint64_t now, unsigned priority) {
  const uint32_t index = remove_first(fifos_[priority]);
  const Slot &slot = slots_[index];
  if (fifos_[priority].empty())
    backlogged_ &= ~(1U << priority);
  count_backlog(now);
  backlog_ -= slot.frame.length;
  Queue &queue = queue_at(queue_of(priority));
  queue.bytes -= slot.frame.length;
  queue.buffered -= slot.headroom ? 0 : slot.frame.length;
  counts_->classes[priority].backlog_frames--;
  counts_->classes[priority].backlog_bytes -= slot.frame.length;
  const uint64_t own = std::min<uint64_t>(slot.frame.length, queue.unused());
  buffer_->release(now, slot.frame.ingress, priority, slot.frame.length, own, slot.headroom);
  return index;
}

// The class to send from; `ready`: those that have a frame and are not paused.
unsigned Link::choose(uint32_t ready) {
  // The classes without a queue of their own send in the order of arrival.
  const auto first_of = [this](uint32_t classes) {
    auto first = static_cast<unsigned>(std::countr_zero(classes));
    for (classes &= classes - 1; classes; classes &= classes - 1) {
      const auto other = static_cast<unsigned>(std::countr_zero(classes));
      if (slots_[fifos_[other].head].number < slots_[fifos_[first].head].number)
        first = other;
    }
    return first;
  };
  const uint32_t rest = ready & ~declared_;
  if (!declared_)
    return first_of(rest);
  const uint32_t queues = (ready & declared_) | (rest ? 1U << Scheduler::kRest : 0);
  const auto class_of_queue = [&](unsigned queue) {
    return queue == Scheduler::kRest ? first_of(rest) : queue;
  };
  const unsigned queue = scheduler_.pick(queues, [&](unsigned value) {
    return uint64_t{slots_[fifos_[class_of_queue(value)].head].frame.length};
  });
  return class_of_queue(queue);
}

uint32_t Link::dequeue(uint64_t now) {
  while (const uint32_t ready = backlogged_ & ~paused_at(now)) {
    const unsigned priority = choose(ready);
    const unsigned number = queue_of(priority);
    Queue &queue = queue_at(number);
    const uint32_t index = pop(now, priority);
    Frame &frame = slots_[index].frame;
    const bool passed = !queue.aqm.on() || queue.aqm.at_enqueue() ||
                        marked_or_passed(now, queue, frame, counts_->classes[priority]);
    if (declared_ && passed)
      scheduler_.sent(number, frame.length, !queue.bytes);
    else if (declared_ && !queue.bytes)
      scheduler_.emptied(number);
    if (passed) {
      LinkClassCounts &counts = counts_->classes[priority];
      counts.frames_out++;
      counts.bytes_out += frame.length;
      counts_->wire_frames++;
      counts_->wire_bytes += frame.length;
      return index;
    }
    drop_slot(index, LinkDrop::Aqm);
    if (!queue.bytes)
      queue.aqm.idle(now);
  }
  return kNone;
}

void Link::drop_slot(uint32_t index, LinkDrop cause) {
  Slot &slot = slots_[index];
  slot.cause = cause;
  refuse(counts_->classes[slot.priority], slot.frame, cause);
  append(dropped_, index);
}

// The last bit leaves at `finished`.
void Link::sent(uint32_t index, uint64_t begins, uint64_t finished) {
  Slot &slot = slots_[index];
  if (departures_) [[unlikely]] {
    departures_->left(*this, slot.frame, begins, left_bytes_);
    left_bytes_ += slot.frame.length + overhead_;
  }
  if (times_)
    times_->sojourn.add(finished - slot.entered);
  // A delay that becomes shorter does not let frames overtake others.
  slot.entered = finished + delay_;
  last_due_ = slot.frame.due = std::max(last_due_, slot.entered);
  append(wire_, index);
  Queue &queue = queue_at(queue_of(slot.priority));
  if (!queue.bytes)
    queue.aqm.idle(finished);
}

uint64_t Link::next_service() const {
  if (traced_)
    return trace_.next();
  const uint64_t at = std::max(bits_.free_at(), clock_);
  if (backlogged_ & ~paused_at(at))
    return at;
  uint64_t resumes = kNever;
  for (uint32_t left = backlogged_; left; left &= left - 1)
    resumes = std::min(resumes, paused_until_[static_cast<unsigned>(std::countr_zero(left))]);
  return resumes;
}

void Link::serve_until(uint64_t now) {
  if (traced_)
    return serve_trace(now);
  while (backlogged_) {
    const uint64_t at = next_service();
    if (at > now)
      break;
    clock_ = at;
    const uint32_t index = dequeue(at);
    if (index == kNone)
      continue;
    uint64_t begins = at, finished = at;
    if (rated_) {
      begins = std::max(at, bits_.free_at());
      finished = bits_.send(begins, slots_[index].frame.length + overhead_);
      counts_->busy_ns += finished - begins;
    }
    sent(index, begins, finished);
  }
}

// What changes the state serves the queue by itself: at one time, there is something to do once.
void Link::run(uint64_t now) {
  if (now <= clock_ && flap_next_ > clock_)
    return;
  now = std::max(now, clock_);
  while (flap_next_ <= now) {
    serve_until(flap_next_);
    clock_ = flap_next_;
    toggle(clock_);
    if (!down_) // nothing is queued: whole periods can be skipped
      skip_flaps(now);
  }
  serve_until(now);
  clock_ = now;
  counts_->updated = now;
  if (paused_)
    settle_pauses(now);
}

void Link::update(uint64_t now) {
  run(now);
  count_backlog(clock_);
}

// While frames are propagating, the queue need not be served before the first of them is due: only
// a buffer that is shared or has paused somebody depends on it earlier.
uint64_t Link::next() const {
  if (!dropped_.empty())
    return clock_;
  uint64_t at = std::min(flap_next_, buffer_->next());
  const bool early = shares_ || buffer_->next() != kNever;
  if (!wire_.empty())
    at = std::min(at, slots_[wire_.head].frame.due);
  if ((backlogged_ || in_transit_ != kNone) && (early || wire_.empty()))
    at = std::min(at, next_service());
  return at;
}

bool Link::take(uint64_t now, Frame &frame) {
  run(now);
  if (wire_.empty() || slots_[wire_.head].frame.due > clock_)
    return false;
  if (times_)
    times_->late.add(clock_ - slots_[wire_.head].entered);
  take_first(frame);
  return true;
}

void Link::take_first(Frame &frame) {
  const uint32_t index = remove_first(wire_);
  frame = slots_[index].frame;
  counts_->wire_frames--;
  counts_->wire_bytes -= frame.length;
  free_slot(index);
}

bool Link::take_sent(uint64_t now, Frame &frame) {
  run(now);
  if (wire_.empty())
    return false;
  take_first(frame);
  return true;
}

bool Link::take_dropped(uint64_t now, Frame &frame, LinkDrop &cause) {
  run(now);
  if (dropped_.empty())
    return false;
  const uint32_t index = remove_first(dropped_);
  frame = slots_[index].frame;
  cause = slots_[index].cause;
  free_slot(index);
  return true;
}

} // namespace xr::wire
