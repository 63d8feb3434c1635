// SPDX-License-Identifier: Apache-2.0
#include "station/neighbours.h"

#include <algorithm>

namespace xr::station {

void Neighbours::ask(std::vector<NeighbourQuestion> questions) {
  asked_.clear();
  for (NeighbourQuestion &question : questions)
    asked_.push_back({.question = std::move(question), .mac = {}});
}

bool Neighbours::settled(uint64_t now) const {
  return std::ranges::all_of(asked_, [&](const Asked &asked) {
    return asked.mac || (asked.tries >= kTries && now >= asked.next);
  });
}

bool Neighbours::receive(std::span<const uint8_t> frame) {
  if (asked_.empty())
    return false;
  const auto message = packet::parse_neighbour(frame);
  if (!message)
    return false;
  // The target of an answer is the address that was asked for; a question has its sender's MAC.
  const packet::Address &who = message->question ? message->sender : message->target;
  bool mine = false;
  for (Asked &asked : asked_)
    if (asked.question.target == who || asked.question.target == message->sender) {
      asked.mac = message->sender_mac;
      mine = true;
    }
  return mine;
}

size_t Neighbours::next(uint64_t now, std::span<packet::Outgoing> out) {
  sent_.clear();
  for (Asked &asked : asked_) {
    if (asked.mac || asked.tries >= kTries || asked.next > now || sent_.size() == out.size())
      continue;
    asked.tries++;
    asked.next = now + kAgain;
    const NeighbourQuestion &q = asked.question;
    sent_.push_back(packet::neighbour_question(q.source, q.mac, q.target, q.tags));
  }
  for (size_t i = 0; i < sent_.size(); i++) {
    out[i] = {};
    out[i].raw = sent_[i];
  }
  return sent_.size();
}

uint64_t Neighbours::wake_at() const {
  uint64_t at = kNever;
  for (const Asked &asked : asked_)
    if (!asked.mac && asked.tries < kTries)
      at = std::min(at, asked.next);
  return at;
}

} // namespace xr::station
