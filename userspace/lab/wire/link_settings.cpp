// SPDX-License-Identifier: Apache-2.0
// What changes a link: its spec, flaps, and pauses by PFC; links that follow a trace.
#include <algorithm>
#include <bit>

#include "base/layer1.h"
#include "wire/link.h"

namespace xr::wire {

namespace {

constexpr uint32_t kFullFrame = 1518;  // where no MTU is set
constexpr uint32_t kHeaders = 18;      // Ethernet and VLAN
constexpr uint64_t kQuantumBits = 512; // 802.3, Annex 31B

} // namespace

Link::Link(const LinkSpec &spec, const LinkSetup &setup)
    : clock_(setup.start), counted_at_(setup.start), counts_(setup.counts), times_(setup.counts),
      buffer_(setup.buffer), departures_(setup.departures), seed_(setup.seed), spec_(spec),
      line_rate_(setup.line_rate), sharers_(setup.sharers) {
  if (!counts_ && setup.times) {
    own_counts_ = std::make_unique<LinkCounts>();
    counts_ = times_ = own_counts_.get();
  } else if (!counts_) {
    counts_ = &own_totals_;
  }
  if (!buffer_) {
    own_buffer_ = std::make_unique<SharedBuffer>(spec.buffer, spec.pfc, setup.line_rate);
    buffer_ = own_buffer_.get();
  }
  counts_->started = counts_->updated = setup.start;
  counts_->delay = spec.delay;
  apply(setup.start, setup.trace);
  apply_flap(setup.start);
}

void Link::change(uint64_t now, const LinkSpec &spec, TracePointer trace) {
  run(now);
  const LinkFlap flap = spec_.flap;
  const bool other_trace = trace || spec.trace != spec_.trace;
  if (times_ && spec.delay != spec_.delay)
    times_->late = {};
  spec_ = spec;
  counts_->delay = spec.delay;
  counts_->changes++;
  if (own_buffer_)
    own_buffer_->configure(spec.buffer, spec.pfc, clock_);
  if (other_trace)
    apply(clock_, std::move(trace));
  else
    apply_classes(clock_);
  if (spec.flap != flap)
    apply_flap(clock_);
  serve_until(clock_);
}

void Link::apply(uint64_t now, TracePointer trace) {
  delay_ = spec_.delay; // of the frame in transit too
  trace_.start(std::move(trace), now);
  traced_ = static_cast<bool>(trace_);
  if (!traced_)
    finish_transit(now);
  apply_classes(now);
}

// The frame that a trace has begun to send leaves at once, as one that is being serialised does.
void Link::finish_transit(uint64_t now) {
  if (in_transit_ != kNone)
    sent(in_transit_, now, now);
  in_transit_ = kNone;
}

// Frames stay in the class that they have entered. The queues are divided again.
void Link::apply_classes(uint64_t now) {
  bits_.set_rate(std::max<uint64_t>(spec_.rate, 1));
  overhead_ = spec_.layer1 ? kLayer1Bytes : 0;
  delay_ = spec_.delay;
  rated_ = spec_.rate;
  limited_ = spec_.mtu;
  shares_ = !own_buffer_;
  one_class_ = std::ranges::all_of(spec_.map, [](auto value) { return value == 0; });
  const uint32_t full = spec_.mtu ? spec_.mtu + kHeaders : kFullFrame;
  scheduler_.configure(spec_.classes, full);
  const uint64_t frame_ns = spec_.rate ? full * 8ULL * 1'000'000'000 / spec_.rate : 0;
  declared_ = 0;
  for (unsigned i = 0; i < kLinkClasses; i++)
    declared_ |= spec_.classes[i].declared ? 1U << i : 0;
  for (Queue &queue : queues_) {
    buffer_->keep(queue.unused(), 0);
    queue.bytes = queue.buffered = 0;
  }
  for (unsigned i = 0; i < kLinkClasses; i++)
    queue_at(queue_of(i)).bytes += counts_->classes[i].backlog_bytes;
  for (unsigned i = 0; i < Scheduler::kQueues; i++) {
    const bool own = i < kLinkClasses && spec_.classes[i].own_aqm;
    queue_at(i).aqm.configure(own ? spec_.classes[i].aqm : spec_.aqm, frame_ns, now);
    queue_at(i).share = UINT64_MAX;
    if (i < kLinkClasses && spec_.classes[i].share < 100)
      queue_at(i).share = spec_.buffer / 100 * spec_.classes[i].share +
                          spec_.buffer % 100 * spec_.classes[i].share / 100;
  }
  apply_reserves();
}

// A link without classes has one queue, which needs no reserve.
void Link::apply_reserves() {
  for (unsigned i = 0; i < kLinkClasses; i++)
    for (uint32_t index = fifos_[i].head; index != kNone; index = slots_[index].next)
      queue_at(queue_of(i)).buffered += slots_[index].headroom ? 0 : slots_[index].frame.length;
  for (unsigned i = 0; i < Scheduler::kQueues; i++) {
    Queue &queue = queue_at(i);
    const uint32_t percent = i < kLinkClasses ? reserve_of(spec_, i) : reserve_of_rest(spec_);
    queue.reserve = std::min(queue.share, buffer_->limit() / 100 * percent / sharers_);
    buffer_->keep(0, queue.unused());
  }
}

void Link::apply_flap(uint64_t now) {
  down_ = false;
  flaps_ = 0;
  flap_next_ = spec_.flap.down ? now + spec_.flap.period - spec_.flap.down : kNever;
}

void Link::toggle(uint64_t now) {
  const LinkFlap &flap = spec_.flap;
  down_ = !down_;
  if (!down_) {
    const bool last = flap.count && flaps_ == flap.count;
    flap_next_ = last ? kNever : now + flap.period - flap.down;
    return;
  }
  flaps_++;
  counts_->flaps++;
  flap_next_ = now + flap.down;
  while (backlogged_)
    drop_slot(pop(now, static_cast<unsigned>(std::countr_zero(backlogged_))), LinkDrop::Down);
  finish_transit(now);
  for (unsigned i = 0; i < Scheduler::kQueues; i++) {
    scheduler_.emptied(i);
    queue_at(i).aqm.idle(now);
  }
}

// Passes over the flaps that begin and end until `now`.
void Link::skip_flaps(uint64_t now) {
  const LinkFlap &flap = spec_.flap;
  if (flap_next_ > now || now - flap_next_ < flap.down)
    return;
  uint64_t passed =
      (now - flap_next_ - flap.down) / flap.period; // the last one is left to toggle()
  if (flap.count)
    passed = std::min<uint64_t>(passed, flap.count - flaps_ - 1);
  flaps_ += static_cast<uint32_t>(passed);
  counts_->flaps += passed;
  flap_next_ += passed * flap.period;
}

uint32_t Link::still_paused(uint64_t at) const {
  uint32_t paused = paused_;
  for (uint32_t left = paused_; left; left &= left - 1) {
    const auto priority = static_cast<unsigned>(std::countr_zero(left));
    if (paused_until_[priority] <= at)
      paused &= ~(1U << priority);
  }
  return paused;
}

// Counts the time paused until `now`, and ends the pauses whose quanta have run out.
void Link::settle_pauses(uint64_t now) {
  uint64_t began = kNever, ended = 0; // of all: each call settles until the same time
  for (uint32_t left = paused_; left; left &= left - 1) {
    const auto priority = static_cast<unsigned>(std::countr_zero(left));
    const uint64_t until = std::min(now, paused_until_[priority]);
    counts_->classes[priority].paused_ns += until - paused_since_[priority];
    began = std::min(began, paused_since_[priority]);
    ended = std::max(ended, until);
    paused_since_[priority] = until;
    if (paused_until_[priority] <= now)
      paused_ &= ~(1U << priority);
  }
  if (ended > began)
    counts_->paused_ns += ended - began;
}

void Link::pause_one(uint64_t now, unsigned priority, uint16_t quanta) {
  LinkClassCounts &counts = counts_->classes[priority];
  (quanta ? counts.xoff_received : counts.xon_received)++;
  counts.quanta_received += quanta;
  // rounded up: a class must not resume early
  const uint64_t rate = quanta_rate();
  const uint64_t ns = (quanta * kQuantumBits * 1'000'000'000 + rate - 1) / rate;
  if (!(paused_ >> priority & 1))
    paused_since_[priority] = now;
  paused_until_[priority] = now + ns; // overwritten, not added
  if (quanta)
    paused_ |= 1U << priority;
  else
    paused_ &= ~(1U << priority);
}

bool Link::pause(uint64_t now, uint8_t priorities,
                 const std::array<uint16_t, kLinkClasses> &quanta) {
  run(now);
  counts_->pfc_received++;
  if (!quanta_rate()) {
    counts_->pause_refused++;
    return false;
  }
  for (unsigned priority = 0; priority < kLinkClasses; priority++)
    if (priorities >> priority & 1)
      pause_one(clock_, priority, quanta[priority]);
  serve_until(clock_);
  return true;
}

bool Link::pause_all(uint64_t now, uint16_t quanta) {
  run(now);
  counts_->pause_received++;
  if (!quanta_rate()) {
    counts_->pause_refused++;
    return false;
  }
  for (unsigned priority = 0; priority < kLinkClasses; priority++)
    pause_one(clock_, priority, quanta);
  serve_until(clock_);
  return true;
}

bool Link::take_pfc(uint64_t now, PfcOut &out) {
  run(now);
  if (!buffer_->take(clock_, out))
    return false;
  counts_->pfc_sent++;
  for (unsigned priority = 0; priority < kLinkClasses; priority++)
    if (out.priorities >> priority & 1) {
      LinkClassCounts &counts = counts_->classes[priority];
      (out.quanta[priority] ? counts.xoff_sent : counts.xon_sent)++;
    }
  return true;
}

// Like Mahimahi's link: an opportunity goes to the packet that is being sent, then to the next
// ones; what is left is lost. Ethernet headers cost nothing, as its links carry IP packets.
void Link::serve_trace(uint64_t now) {
  while (trace_.next() <= now) {
    if (!backlogged_ && in_transit_ == kNone) {
      const uint64_t passed = trace_.skip(now);
      counts_->opportunities += passed;
      counts_->wasted_bytes += passed * kOpportunityBytes;
      return;
    }
    clock_ = trace_.next();
    trace_.advance();
    counts_->opportunities++;
    uint64_t bytes = kOpportunityBytes;
    while (bytes) {
      if (in_transit_ == kNone) {
        in_transit_ = dequeue(clock_);
        if (in_transit_ == kNone)
          break;
        bytes_left_ = ip_bytes(slots_[in_transit_].frame);
      }
      const uint64_t part = std::min(bytes, bytes_left_);
      bytes -= part;
      bytes_left_ -= part;
      if (bytes_left_)
        break;
      sent(in_transit_, clock_, clock_);
      in_transit_ = kNone;
    }
    counts_->wasted_bytes += bytes;
  }
}

uint64_t Link::send_control(uint64_t now, uint32_t bytes) {
  run(now);
  if (!spec_.rate)
    return clock_;
  const uint64_t begins = std::max(clock_, bits_.free_at());
  const uint64_t finished = bits_.send(begins, bytes + overhead_);
  counts_->busy_ns += finished - begins;
  return finished;
}

void Link::put_control(uint64_t now, const Frame &frame) {
  const uint64_t finished = send_control(now, frame.length);
  const uint32_t index = new_slot();
  Slot &slot = slots_[index];
  slot.frame = frame;
  slot.entered = finished + delay_;
  last_due_ = slot.frame.due = std::max(last_due_, slot.entered);
  append(wire_, index);
  counts_->wire_frames++;
  counts_->wire_bytes += frame.length;
}

uint64_t most_bytes(const LinkSpec &spec, uint64_t line_rate, unsigned ports) {
  const uint64_t rate = spec.rate ? spec.rate : line_rate;
  const auto propagating =
      static_cast<uint64_t>(static_cast<unsigned __int128>(rate) * spec.delay / 8'000'000'000ULL);
  const auto lossless = static_cast<unsigned>(spec.pfc.on ? std::popcount(spec.pfc.priorities) : 0);
  return spec.buffer + spec.pfc.headroom * lossless * ports + propagating;
}

} // namespace xr::wire
