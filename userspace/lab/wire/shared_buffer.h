// SPDX-License-Identifier: Apache-2.0
// The memory in which frames wait, and the PFC frames that keep it from overflowing. A link has one
// of its own, or the links of one switch share one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/link.h"
#include "wire/frame.h"

namespace xr::wire {

// A PFC frame to send by port `ingress` (IEEE 802.1Qbb).
struct PfcOut {
  uint8_t ingress = 0;
  uint8_t priorities = 0; // the class-enable vector
  std::array<uint16_t, kLinkClasses> quanta = {};
};

class SharedBuffer {
public:
  static constexpr uint16_t kQuanta = 0xffff;           // of an XOFF
  static constexpr uint64_t kFastest = 400'000'000'000; // assumed where no rate is known

  // `rate`: bits per second of ports for which set_rate() was not called; 0: unknown, then
  // refreshes are as frequent as at kFastest.
  SharedBuffer(uint64_t limit, const LinkPfc &pfc, uint64_t rate);
  // Keeps what is in it. Priorities that are no longer lossless get XON.
  void configure(uint64_t limit, const LinkPfc &pfc, uint64_t now);
  // The rate of the line at port `ingress`, at which its peer counts the quanta.
  void set_rate(unsigned ingress, uint64_t rate);

  // Takes `bytes` for a frame of `priority`, or returns why there is no room. `own`: those that its
  // queue's reserve holds. `headroom`: they are in the headroom of its port and priority.
  LinkDrop admit(uint64_t now, unsigned ingress, unsigned priority, uint64_t bytes, uint64_t own,
                 bool &headroom) {
    if (pfc_.on || !has_room(bytes, own) || ingress >= ports_.size())
      return admit_any(now, ingress, priority, bytes, own, headroom);
    headroom = false;
    used_ += bytes;
    kept_ -= own;
    ports_[ingress].used[priority] += bytes;
    return LinkDrop::None;
  }
  // `own`: the bytes that its queue's reserve gets back; 0 for frames in headroom.
  void release(uint64_t now, unsigned ingress, unsigned priority, uint64_t bytes, uint64_t own,
               bool headroom) {
    Ingress &from = ports_[ingress];
    from.used[priority] -= bytes;
    if (headroom) {
      from.headroom[priority] -= bytes;
      headroom_used_ -= bytes;
    } else {
      used_ -= bytes;
      kept_ += own;
    }
    if (from.paused >> priority & 1)
      resume(now, from, priority);
  }

  // A frame that stays for no time finds room, and pauses nobody.
  bool passes(uint64_t bytes) const { return !pfc_.on && has_room(bytes, 0); }
  // The unused part of a link's reserves was `before` and is `after`.
  void keep(uint64_t before, uint64_t after) { kept_ = kept_ - before + after; }

  // When a PFC frame is due; kNever: no priority is paused.
  uint64_t next() const { return due_; }
  // The next PFC frame that is due. False: none.
  bool take(uint64_t now, PfcOut &out);

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_; }
  uint64_t headroom_used() const { return headroom_used_; }

private:
  struct Ingress {
    std::array<uint64_t, kLinkClasses> used{};     // shared buffer and headroom
    std::array<uint64_t, kLinkClasses> headroom{}; // of those, headroom
    uint8_t paused = 0;                            // priorities whose last frame is XOFF
    uint8_t changed = 0;                           // priorities whose state is not sent yet
    uint64_t rate = 0, due = kNever;
  };

  bool has_room(uint64_t bytes, uint64_t own) const {
    return used_ + kept_ + bytes - own <= limit_;
  }
  LinkDrop admit_any(uint64_t now, unsigned ingress, unsigned priority, uint64_t bytes,
                     uint64_t own, bool &headroom);
  void resume(uint64_t now, Ingress &from, unsigned priority);
  Ingress &port(unsigned ingress);
  uint64_t xoff() const; // the threshold now
  void want(Ingress &port, unsigned priority, bool pause, uint64_t now);
  uint64_t refresh(const Ingress &port) const;

  uint64_t limit_;
  uint64_t used_ = 0; // without headroom
  uint64_t kept_ = 0; // unused parts of all reserves
  uint64_t headroom_used_ = 0;
  uint64_t due_ = kNever; // the least of all ports
  std::vector<Ingress> ports_;
  LinkPfc pfc_;
  uint64_t rate_;
};

} // namespace xr::wire
