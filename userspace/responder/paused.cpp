// SPDX-License-Identifier: Apache-2.0
// Answers of priorities that a PFC frame paused wait apart, in their order.
#include "responder/responder_state.h"

#include <algorithm>

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
  return true;
}

void Responder::State::take_resumed(uint64_t now) {
  for (unsigned priority = 0; priority < packet::kPriorities; priority++) {
    Ring<QueueEntry> &waiting = paused_queues_[priority];
    if (waiting.empty() || options.pauses->paused(priority, now))
      continue;
    for (; !waiting.empty(); waiting.pop())
      queue_.push(waiting.front());
  }
}

uint64_t Responder::State::resumes_at() const {
  uint64_t at = packet::kNever;
  for (unsigned priority = 0; priority < packet::kPriorities; priority++)
    if (!paused_queues_[priority].empty())
      at = std::min(at, options.pauses->until(priority));
  return at;
}

} // namespace xr::responder
