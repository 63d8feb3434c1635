// SPDX-License-Identifier: Apache-2.0
// Selective repeat: sends again what a NAK names, or what is missing among the answers, and nothing
// else.
#include <algorithm>

#include "requester/reliable_qp.h"

namespace xr::requester {

using packet::Verb;

bool ReliableQp::is_queued(uint64_t place) const {
  for (size_t i = 0; i < again_.size(); i++)
    if (again_[i].first <= place && place < again_[i].end)
      return true;
  return false;
}

// Queues one request; of a READ, for what is missing from `place` on.
void ReliableQp::again(uint64_t place, const ReliableContext &c) {
  if (is_queued(place))
    return;
  forget_samples(place);
  PlaceRun run{place, place + 1};
  if (c.flow.verb == Verb::Read)
    run = answered_.missing(place, messages_[message_of(place)].end());
  again_.push(run);
}

// Queues all that is missing in [from, to).
void ReliableQp::again_missing(uint64_t from, uint64_t to, const ReliableContext &c) {
  while (true) {
    const PlaceRun gap = answered_.missing(from, to);
    if (gap.first == gap.end)
      return;
    from = gap.end;
    for (uint64_t place = gap.first; place < gap.end;) {
      const uint64_t message = messages_[message_of(place)].end();
      const uint64_t end = c.flow.verb == Verb::Read ? std::min(message, gap.end) : place + 1;
      forget_samples(place);
      if (!is_queued(place))
        again_.push({place, end});
      place = end;
    }
  }
}

// After a timeout. The oldest packet asks for an ACK, which reports what arrived and so the next
// lost packet. READs and atomics have no such ACK: all that is missing goes.
void ReliableQp::again_after_timeout(uint64_t now, const ReliableContext &c) {
  since_ = now;
  again_.clear();
  if (!c.answered) {
    recovery_ = high_;
    return again(oldest_, c);
  }
  scanned_ = high_;
  again_missing(oldest_, high_, c);
}

RequestPacket ReliableQp::send_again(uint64_t now, const ReliableContext &c) {
  const PlaceRun run = again_.front();
  again_.pop();
  RequestPacket out = packet_at(run.first, message_of(run.first), c);
  if (c.flow.verb == Verb::Read)
    out.dma_len =
        static_cast<uint32_t>(std::min<uint64_t>(out.dma_len, (run.end - run.first) * c.flow.pmtu));
  out.again = out.ack_req = true;
  if (run.first == oldest_)
    since_ = now;
  asked_ = std::max(asked_, run.end);
  return out;
}

// Removes what arrived meanwhile.
void ReliableQp::drop_arrived() {
  for (size_t left = again_.size(); left > 0; left--) {
    PlaceRun run = again_.front();
    again_.pop();
    run.first = std::max(run.first, oldest_);
    if (run.first < run.end)
      again_.push(run);
  }
}

// The answer of a place after the oldest one: those between are lost, as answers come in order.
bool ReliableQp::later_answer(uint64_t now, uint64_t place, const ReliableContext &c) {
  const PlaceSet::Added added = answered_.add(place);
  switch (added) {
  case PlaceSet::Added::Known:
    c.counts.duplicate_acks++;
    return false;
  case PlaceSet::Added::NoRoom:
    c.counts.kept_no_room++;
    break;
  case PlaceSet::Added::New:
    c.counts.kept++;
    since_ = now;
    break;
  }
  if (place >= scanned_) {
    again_missing(std::max(scanned_, oldest_), place, c);
    scanned_ = place + 1;
  }
  take_samples(now, place + 1, c);
  return added == PlaceSet::Added::New;
}

} // namespace xr::requester
