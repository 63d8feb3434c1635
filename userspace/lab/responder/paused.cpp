// SPDX-License-Identifier: Apache-2.0
// Answers of priorities that a PFC frame paused wait apart, in their order.
#include "responder/responder_state.h"

#include <algorithm>
#include <bit>

namespace xr::responder {

// ARP, neighbour discovery and RDMA CM have the lowest.
unsigned Responder::State::priority_of(const QueueEntry &entry) const {
  switch (entry.kind) {
  case QueueEntry::Kind::Connection:
    return entry.connection->path ? entry.connection->path->priority_for(ROCE_RC_ACKNOWLEDGE) : 0;
  case QueueEntry::Kind::Cnp:
    return entry.path->priority_for(ROCE_OPCODE_CNP);
  default:
    return 0;
  }
}

// Moves the entry at the front away if its priority is paused.
bool Responder::State::is_paused(uint64_t now) {
  if (!options.pauses || !options.pauses->any(now))
    return false;
  const QueueEntry entry = queue_.front();
  const unsigned priority = priority_of(entry);
  if (!options.pauses->paused(priority, now))
    return false;
  turn_ = 0;
  queue_.pop();
  paused_queues_[priority].push(entry);
  waiting_ |= 1U << priority;
  return true;
}

void Responder::State::take_resumed(uint64_t now) {
  for (uint32_t left = waiting_; left; left &= left - 1) {
    const auto priority = static_cast<unsigned>(std::countr_zero(left));
    if (options.pauses->paused(priority, now))
      continue;
    waiting_ &= ~(1U << priority);
    for (Ring<QueueEntry> &entries = paused_queues_[priority]; !entries.empty(); entries.pop())
      queue_.push(entries.front());
  }
}

uint64_t Responder::State::resumes_at() const {
  uint64_t at = kNever;
  for (uint32_t left = waiting_; left; left &= left - 1)
    at = std::min(at, options.pauses->until(static_cast<unsigned>(std::countr_zero(left))));
  return at;
}

} // namespace xr::responder
