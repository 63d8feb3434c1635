// SPDX-License-Identifier: Apache-2.0
// Frames are received in endpoint/engine_loop.h, let through in to_socket of bpf/xdp_roce.bpf.c;
// obeyed in OpenFlow::due, ReliableFlow::due and responder/paused.cpp; pauses_test, send_paused.sh.
#include "packet/pauses.h"

#include <algorithm>
#include <mutex>

namespace xr::packet {

namespace {

std::mutex receiving; // threads of several queues; the frames are rare

} // namespace

unsigned priority_of(const Path &path) {
  return path.tags.empty() ? path.tos >> 5 : path.tags.front().tci >> 13;
}

void Pauses::receive(uint64_t now, std::span<const uint8_t> frame) {
  const auto pause = parse_pause(frame);
  if (!pause)
    return;
  const std::lock_guard guard(receiving);
  (pause->global ? pause_ : pfc_)++;
  if (!line_bits_) {
    refused_++;
    return;
  }
  const unsigned stopped = pause->global ? (obeyed_.pause ? 0xff : 0) : pause->enable & obeyed_.pfc;
  if (!stopped)
    return;
  for (unsigned priority = 0; priority < kPriorities; priority++)
    if (stopped >> priority & 1)
      set(now, priority, pause->quanta[pause->global ? 0 : priority]);
  changes_.fetch_add(1, std::memory_order_release);
}

// A later frame replaces the pause (IEEE 802.1Q, 36.1.3.3); 0 quanta end it.
void Pauses::set(uint64_t now, unsigned priority, uint16_t quanta) {
  const uint64_t before = until(priority);
  if (before > since_[priority])
    paused_ns_[priority] += std::min(before, now) - since_[priority];
  since_[priority] = now;
  if (quanta || before > now)
    until_[priority] = now + pause_ns(quanta, line_bits_);
}

bool Pauses::any(uint64_t now) const {
  return std::any_of(until_.begin(), until_.end(),
                     [now](const auto &until) { return until > now; });
}

PauseCounts Pauses::counts(uint64_t now) const {
  PauseCounts counts{pfc_, pause_, refused_, {}};
  for (unsigned priority = 0; priority < kPriorities; priority++) {
    const uint64_t end = std::min(until(priority), now), since = since_[priority];
    counts.paused_ns[priority] = paused_ns_[priority] + (end > since ? end - since : 0);
  }
  return counts;
}

} // namespace xr::packet
