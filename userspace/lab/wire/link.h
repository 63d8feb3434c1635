// SPDX-License-Identifier: Apache-2.0
// Everything that leaves by one port: classes with strict priority and DWRR, a shared buffer, AQM,
// PFC in both directions, a rate or a trace, propagation delay, MTU, flap. Virtual time: `now` must
// not decrease. Frames of one class keep their order.
//
//   enqueue() -> queue -> (AQM) -> serialised -> propagates -> take()
//
// What happens between two calls is computed at the next call, for the time at which it was due.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/draw.h"
#include "model/link.h"
#include "wire/aqm.h"
#include "wire/bit_clock.h"
#include "wire/delivery_trace.h"
#include "wire/frame.h"
#include "wire/scheduler.h"
#include "wire/shared_buffer.h"

namespace xr::wire {

using TracePointer = std::shared_ptr<const DeliveryTrace>;

class Link;

// Sees each frame that begins to leave a link.
class Departures {
public:
  virtual ~Departures() = default;
  // `before`: bytes that had left before it.
  virtual void left(const Link &link, const Frame &frame, uint64_t now, uint64_t before) = 0;
};

struct LinkSetup {
  uint64_t line_rate = 0;       // of the port, bits per second; 0: unknown
  uint64_t seed = 0;            // of the AQM's decisions
  uint64_t start = 0;           // ns
  TracePointer trace = nullptr; // the contents of LinkSpec::trace
  LinkCounts *counts = nullptr; // where to count, zero at first; otherwise in the link
  Departures *departures = nullptr;
  // Counts as LinkCounts does; otherwise LinkTotals and backlog_sizes() only, in little memory.
  bool times = true;
  SharedBuffer *buffer = nullptr; // of a switch, which LinkSpec's buffer and pfc do not configure
  unsigned sharers = 1;           // links that share the buffer: each reserves its part of it
};

class Link {
public:
  Link(const LinkSpec &spec, const LinkSetup &setup);
  Link(const Link &) = delete;
  Link &operator=(const Link &) = delete;

  // Applies `spec` to what comes and what is queued. A trace continues unless `trace` is given or
  // its name differs; a flap that differs restarts.
  void change(uint64_t now, const LinkSpec &spec, TracePointer trace = nullptr);

  // LinkDrop::None: the link has the frame, and take() or take_dropped() will return it. Otherwise
  // it is dropped and counted, and the caller still has it.
  LinkDrop enqueue(uint64_t now, const Frame &frame);
  // When take(), take_dropped() or take_pfc() may have something; kNever: not before another call.
  uint64_t next() const;
  // A frame that has left the link and propagated at `frame.due` <= now. False: none.
  bool take(uint64_t now, Frame &frame);
  // A frame whose departure is decided, though it propagates until `frame.due`, which is after
  // `now` by the delay at least. For one who carries it there. False: none.
  bool take_sent(uint64_t now, Frame &frame);
  // A frame that was dropped after enqueue(): by AQM at dequeue, or because the link went down.
  bool take_dropped(uint64_t now, Frame &frame, LinkDrop &cause);
  bool has_dropped() const { return !dropped_.empty(); }
  // Handles of the frames that take() will return next, for prefetching; at most `most`.
  template <typename Use> void each_coming(unsigned most, Use use) const {
    for (uint32_t index = wire_.head; index != kNone && most; most--) {
      const Slot &slot = slots_[index];
      use(slot.frame.handle);
      index = slot.next;
    }
  }
  // A PFC frame to send at once. False: none.
  bool take_pfc(uint64_t now, PfcOut &out);

  // A PFC frame was received: priority n is paused for quanta[n] x 512 bit times if bit n of
  // `priorities` is set, instead of what an earlier frame said; 0 resumes. What is being serialised
  // is finished. False: no rate is known that converts quanta to time; counted.
  bool pause(uint64_t now, uint8_t priorities, const std::array<uint16_t, kLinkClasses> &quanta);
  // An 802.3 PAUSE frame was received, which is for all classes.
  bool pause_all(uint64_t now, uint16_t quanta);

  // Processes what is due, and completes the counts until `now`.
  void update(uint64_t now);

  // A MAC control frame of `bytes` without FCS leaves between two frames, whatever is paused: when
  // its last bit has left.
  uint64_t send_control(uint64_t now, uint32_t bytes);
  // Puts a frame that take() returns once it has propagated.
  void put_control(uint64_t now, const Frame &frame);

  // When the last frame that was serialised has left, or leaves.
  uint64_t free_at() const { return bits_.free_at(); }
  // Priorities that are paused at `at`, unless another PFC frame arrives; until when one of them
  // is.
  uint32_t paused_at(uint64_t at) const { return paused_ ? still_paused(at) : 0; }
  uint64_t paused_until(unsigned priority) const { return paused_until_[priority]; }
  uint64_t backlog_bytes() const { return backlog_; }
  // Bytes of each frame that the link's rate includes beside its own: FCS, preamble and gap, or 0.
  uint32_t overhead() const { return overhead_; }

  unsigned class_of(const Frame &frame) const;
  // True while a flap holds the link down, as of the last call.
  bool down() const { return down_; }
  // When down() changes; kNever: not any more.
  uint64_t flap_next() const { return flap_next_; }
  // The rate at which quanta are counted; 0: unknown.
  uint64_t quanta_rate() const { return spec_.rate ? spec_.rate : line_rate_; }
  const LinkSpec &spec() const { return spec_; }
  const LinkTotals &totals() const { return *counts_; }
  const LinkCounts &counts() const { return *times_; } // with LinkSetup::times
  // Without: what LinkCounts::backlog is, since the last reset.
  const Histogram &backlog_sizes() {
    if (zero_ns_)
      backlog_sizes_.add(0, std::exchange(zero_ns_, 0));
    return backlog_sizes_;
  }
  void reset_backlog_sizes() {
    backlog_sizes_ = {};
    zero_ns_ = 0;
  }
  const SharedBuffer &buffer() const { return *buffer_; }
  const Aqm &aqm(unsigned number) const { return queues_[place_of(number)].aqm; }

private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct alignas(64) Slot {
    Frame frame;
    uint64_t entered = 0; // once it is sent: when it is to leave, by the delay asked for then
    uint64_t number = 0;  // counts frames, for the order of the classes that share a queue
    uint32_t next = kNone;
    uint8_t priority = 0;
    bool headroom = false;
    LinkDrop cause = LinkDrop::None;
  };
  struct Fifo {
    uint32_t head = kNone, tail = kNone;
    bool empty() const { return head == kNone; }
  };
  struct Queue {
    uint64_t bytes = 0;
    uint64_t share = UINT64_MAX; // most bytes
    uint64_t reserve = 0;        // bytes that other queues cannot take
    uint64_t buffered = 0;       // bytes without those in headroom
    Aqm aqm;
    uint64_t unused() const { return reserve > buffered ? reserve - buffered : 0; }
  };

  uint32_t new_slot();
  void free_slot(uint32_t index);
  void append(Fifo &fifo, uint32_t index);
  uint32_t remove_first(Fifo &fifo);
  void take_first(Frame &frame);

  void apply(uint64_t now, TracePointer trace);
  void apply_classes(uint64_t now);
  void apply_reserves();
  void apply_flap(uint64_t now);
  void finish_transit(uint64_t now);
  void toggle(uint64_t now);
  void skip_flaps(uint64_t now);
  void run(uint64_t now);
  void serve_until(uint64_t now);
  void serve_trace(uint64_t now);
  uint64_t next_service() const;
  uint32_t still_paused(uint64_t at) const;
  void settle_pauses(uint64_t now);
  void pause_one(uint64_t now, unsigned priority, uint16_t quanta);

  // Removes the frame to send next, after AQM. kNone: no class may send.
  uint32_t dequeue(uint64_t now);
  unsigned choose(uint32_t ready); // the class to send from
  bool send_at_once(const Frame &frame, unsigned priority, Queue &queue, LinkClassCounts &counts);
  void push(const Frame &frame, unsigned priority, bool headroom);
  uint32_t pop(uint64_t now, unsigned priority);
  bool marked_or_passed(uint64_t now, Queue &queue, Frame &frame, LinkClassCounts &counts);
  void drop_slot(uint32_t index, LinkDrop cause);
  void sent(uint32_t index, uint64_t begins, uint64_t finished);
  LinkDrop refuse(LinkClassCounts &counts, const Frame &frame, LinkDrop cause);
  void count_backlog(uint64_t now);
  static unsigned place_of(unsigned number) { return number == Scheduler::kRest ? 0 : number + 1; }
  Queue &queue_at(unsigned number) { return queues_[place_of(number)]; }
  unsigned queue_of(unsigned priority) const {
    return declared_ >> priority & 1 ? priority : Scheduler::kRest;
  }

  // First what each frame needs, in few cache lines: the simulator has thousands of links.
  alignas(64) uint64_t clock_; // of the last event
  uint64_t flap_next_ = kNever;
  uint64_t last_due_ = 0;
  uint64_t backlog_ = 0;    // bytes
  uint64_t counted_at_ = 0; // until when the backlog is in the histogram
  BitClock bits_;

  alignas(64) LinkTotals *counts_;
  LinkCounts *times_; // nullptr: without
  SharedBuffer *buffer_;
  Departures *departures_;
  std::vector<Slot> slots_;
  uint32_t free_ = kNone;
  uint32_t overhead_ = 0;

  alignas(64) Fifo wire_; // serialising and propagating, in the order of their due times
  Fifo dropped_;
  uint32_t declared_ = 0;       // classes with a queue of their own
  uint32_t backlogged_ = 0;     // classes that have a frame
  uint32_t paused_ = 0;         // classes
  uint32_t in_transit_ = kNone; // of the trace
  uint64_t zero_ns_ = 0;        // without backlog, not yet in backlog_sizes_
  uint64_t number_ = 0;
  uint64_t draws_ = 0;
  bool down_ = false;
  // What is asked of spec_, which is long: whether there are a rate, an MTU and a trace; whether
  // all frames without a VLAN tag are of class 0; and whether others share buffer_.
  bool rated_ = false, limited_ = false, traced_ = false, one_class_ = false, shares_ = false;

  alignas(64) std::array<Queue, Scheduler::kQueues> queues_; // the rest first: queue_at()
  std::array<Fifo, kLinkClasses> fifos_;
  uint64_t delay_ = 0; // spec_.delay

  uint64_t seed_;
  uint64_t left_bytes_ = 0; // where departures_ is set
  TraceCursor trace_;
  LinkSpec spec_;
  uint64_t line_rate_;
  std::unique_ptr<LinkCounts> own_counts_;
  LinkTotals own_totals_;
  Histogram backlog_sizes_;
  std::unique_ptr<SharedBuffer> own_buffer_;
  unsigned sharers_;
  Scheduler scheduler_;
  uint64_t bytes_left_ = 0; // of in_transit_
  std::array<uint64_t, kLinkClasses> paused_until_{}, paused_since_{};
  uint32_t flaps_ = 0; // that have begun
};

// The most bytes of frames that a link can hold: buffer, headroom of `ports` ingress ports, and
// what propagates at its rate. `line_rate`: for links without a rate; 0 with neither: without
// propagation.
uint64_t most_bytes(const LinkSpec &spec, uint64_t line_rate, unsigned ports);

} // namespace xr::wire
