// SPDX-License-Identifier: Apache-2.0
// Frames in a medium. They leave it in the order in which they entered it, or are lost.
#include <algorithm>

#include "simulate/frame_bytes.h"
#include "simulate/world.h"

namespace xr::simulate {

namespace {

constexpr uint16_t kMacControl = 0x8808; // EtherType of PFC

bool is_pause(std::span<const uint8_t> bytes) {
  return bytes.size() >= 14 && (bytes[12] << 8 | bytes[13]) == kMacControl;
}

uint64_t link_ns(const wire::Link &link, uint32_t length) {
  const LinkSpec &spec = link.spec();
  const uint64_t bits = 8ULL * (length + link.overhead());
  return spec.delay + (spec.rate ? bits * 1'000'000'000 / spec.rate : 0);
}

} // namespace

void Part::carry(uint32_t wire, wire::Frame &frame) {
  write_bytes(pool_, frame, bytes_);
  frame.due = now_;
  ports_[wire]->carried.push(frame);
  world_.medium_->carry(wire, bytes_);
}

void Part::carry_pause(uint32_t wire, const wire::PfcOut &pause) {
  ports_[wire]->carried_pauses.push({now_, pause});
  world_.medium_->carry(wire, pause_bytes(pause));
}

void Part::arrived(uint32_t wire, std::span<const uint8_t> bytes) {
  Port &port = *ports_[wire];
  Carried &carried = world_.carried_;
  const auto count = [&](uint64_t given, uint64_t lost, uint64_t on_link) {
    carried.frames++;
    carried.lost += lost;
    carried.link_ns += on_link;
    carried.more_ns += now_ - given;
    carried.more.add(now_ - given);
    if (now_ - given < world_.medium_->stall_ns())
      return;
    auto &stalls = carried.stalls;
    for (; !stalls.empty() && stalls.back().second >= given; stalls.pop_back())
      given = std::min(given, stalls.back().first);
    stalls.emplace_back(given, now_);
  };
  if (is_pause(bytes) && !port.carried_pauses.empty()) {
    const Port::Pause pause = port.carried_pauses.front();
    port.carried_pauses.pop();
    count(pause.at, 0, link_ns(port.link, static_cast<uint32_t>(bytes.size())));
    return pause_arrived(wire, pause.frame);
  }
  for (size_t ahead = 0; ahead < port.carried.size(); ahead++) {
    write_bytes(pool_, port.carried[ahead], bytes_);
    if (!std::ranges::equal(bytes_, bytes))
      continue;
    for (size_t i = 0; i < ahead; i++, port.carried.pop())
      lose(port.carried.front());
    wire::Frame frame = port.carried.front();
    port.carried.pop();
    count(frame.due, ahead, link_ns(port.link, frame.length));
    return arrive(wire, frame);
  }
  carried.foreign++;
}

} // namespace xr::simulate
