// SPDX-License-Identifier: Apache-2.0
#include "station/pings.h"

#include <algorithm>

namespace xr::station {

void Pings::ask(std::vector<packet::EchoMessage> requests, uint16_t identifier, From from) {
  static constexpr uint8_t kData[48] = {};
  identifier_ = identifier;
  asked_.clear();
  asked_.reserve(requests.size());
  for (packet::EchoMessage &request : requests) {
    request.request = true;
    request.identifier = identifier;
    request.sequence = static_cast<uint16_t>(asked_.size() + 1);
    request.data = kData;
    if (from == From::Here)
      asked_.push_back({.request = request, .frame = packet::echo_frame(request)});
    else
      asked_.push_back({.request = request, .frame = {}, .sent_ns = 1});
  }
}

bool Pings::settled(uint64_t now) const {
  return std::ranges::all_of(asked_, [now](const Asked &asked) {
    return asked.answered || (asked.sent_ns && now >= asked.sent_ns + kWaitNs);
  });
}

bool Pings::receive(std::span<const uint8_t> frame) {
  if (asked_.empty())
    return false;
  const auto reply = packet::parse_echo(frame);
  if (!reply || reply->request || reply->identifier != identifier_ || !reply->sequence ||
      reply->sequence > asked_.size())
    return false;
  Asked &asked = asked_[reply->sequence - 1U];
  if (reply->src != asked.request.dst || reply->dst != asked.request.src)
    return false;
  asked.answered = true;
  return true;
}

size_t Pings::next(uint64_t now, std::span<packet::Outgoing> out) {
  size_t count = 0;
  for (Asked &asked : asked_) {
    if (asked.sent_ns || count == out.size())
      continue;
    asked.sent_ns = now;
    out[count] = {};
    out[count++].raw = asked.frame;
  }
  return count;
}

uint64_t Pings::wake_at() const {
  const bool waits = std::ranges::any_of(asked_, [](const Asked &asked) { return !asked.sent_ns; });
  return waits ? 0 : kNever;
}

} // namespace xr::station
