// SPDX-License-Identifier: Apache-2.0
#include "wire/shared_buffer.h"

#include <algorithm>

namespace xr::wire {

SharedBuffer::SharedBuffer(uint64_t limit, const LinkPfc &pfc, uint64_t rate)
    : limit_(limit), pfc_(pfc), rate_(rate) {}

SharedBuffer::Ingress &SharedBuffer::port(unsigned ingress) {
  if (ingress >= ports_.size())
    ports_.resize(ingress + 1);
  return ports_[ingress];
}

void SharedBuffer::set_rate(unsigned ingress, uint64_t rate) { port(ingress).rate = rate; }

void SharedBuffer::configure(uint64_t limit, const LinkPfc &pfc, uint64_t now) {
  limit_ = limit;
  pfc_ = pfc;
  for (Ingress &item : ports_)
    for (unsigned priority = 0; priority < kLinkClasses; priority++)
      if (item.paused >> priority & 1 && !(pfc.on && pfc.priorities >> priority & 1))
        want(item, priority, false, now);
}

uint64_t SharedBuffer::xoff() const {
  if (pfc_.alpha <= 0)
    return pfc_.xoff;
  const uint64_t taken = used_ + kept_, free = limit_ > taken ? limit_ - taken : 0;
  const double dynamic = pfc_.alpha * static_cast<double>(free);
  return dynamic < static_cast<double>(pfc_.xoff) ? static_cast<uint64_t>(dynamic) : pfc_.xoff;
}

void SharedBuffer::want(Ingress &port, unsigned priority, bool pause, uint64_t now) {
  const auto bit = static_cast<uint8_t>(1U << priority);
  if (static_cast<bool>(port.paused & bit) == pause)
    return;
  port.paused ^= bit;
  port.changed |= bit;
  port.due = std::min(port.due, now);
  due_ = std::min(due_, port.due);
}

// Any frame; admit() has the case without PFC and with room.
LinkDrop SharedBuffer::admit_any(uint64_t now, unsigned ingress, unsigned priority, uint64_t bytes,
                                 uint64_t own, bool &headroom) {
  Ingress &from = port(ingress);
  const bool lossless = pfc_.on && pfc_.priorities >> priority & 1;
  headroom = !has_room(bytes, own);
  if (headroom) {
    if (!lossless)
      return LinkDrop::Buffer;
    if (from.headroom[priority] + bytes > pfc_.headroom)
      return LinkDrop::Headroom;
    from.headroom[priority] += bytes;
    headroom_used_ += bytes;
  } else {
    used_ += bytes;
    kept_ -= own;
  }
  from.used[priority] += bytes;
  if (lossless && from.used[priority] > xoff())
    want(from, priority, true, now);
  return LinkDrop::None;
}

// Some frames of a paused priority have left.
void SharedBuffer::resume(uint64_t now, Ingress &from, unsigned priority) {
  // the distance of XON from XOFF is kept where alpha lowers XOFF
  const uint64_t above = xoff(), distance = pfc_.xoff - pfc_.xon;
  if (from.used[priority] <= (above > distance ? above - distance : 0))
    want(from, priority, false, now);
}

// A quarter of the pause time: half of it may pass until the frame is due, and the driver is not
// always on time.
uint64_t SharedBuffer::refresh(const Ingress &port) const {
  const uint64_t rate = port.rate ? port.rate : rate_ ? rate_ : kFastest;
  return uint64_t{kQuanta} * 512 * 1'000'000'000 / rate / 4;
}

bool SharedBuffer::take(uint64_t now, PfcOut &out) {
  if (due_ > now)
    return false;
  const auto due = std::find_if(ports_.begin(), ports_.end(),
                                [now](const Ingress &port) { return port.due <= now; });
  out = {.ingress = static_cast<uint8_t>(due - ports_.begin()),
         .priorities = static_cast<uint8_t>(due->paused | due->changed)};
  for (unsigned priority = 0; priority < kLinkClasses; priority++)
    out.quanta[priority] = due->paused >> priority & 1 ? kQuanta : 0;
  due->changed = 0;
  due->due = due->paused ? now + refresh(*due) : kNever;
  due_ = kNever;
  for (const Ingress &item : ports_)
    due_ = std::min(due_, item.due);
  return true;
}

} // namespace xr::wire
