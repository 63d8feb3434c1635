// SPDX-License-Identifier: Apache-2.0
#include "endpoint/port_carrier.h"

#include <utility>

#include "host/link.h"

namespace xr::endpoint {

namespace {

constexpr uint64_t kShortest = 20'000'000; // ns: a port takes some ms to go down and up
constexpr auto kCarrierLook = std::chrono::milliseconds(5);
constexpr auto kCarrierPatience = std::chrono::seconds(5); // until the carrier is back, after up

} // namespace

PortCarrier::PortCarrier(host::Netns netns, const std::array<std::string, kPorts> &ifnames,
                         const std::array<WirePortCounts *, kPorts> &counts)
    : netns_(std::move(netns)) {
  for (unsigned i = 0; i < kPorts; i++) {
    ports_[i].ifname = ifnames[i];
    ports_[i].counts = counts[i];
  }
}

void PortCarrier::configure(unsigned port, const LinkFlap &flap) {
  {
    const std::lock_guard guard(mutex_);
    ports_[port].asked.flap = flap;
    news_ = true;
  }
  if (!thread_.joinable() && flap.down)
    thread_ = std::thread([this] { run(); });
  changed_.notify_one();
}

void PortCarrier::set(unsigned port, uint64_t flaps, bool down) {
  {
    const std::lock_guard guard(mutex_);
    ports_[port].asked.flaps = flaps;
    ports_[port].asked.down = down;
    news_ = true;
  }
  changed_.notify_one();
}

void PortCarrier::stop() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable())
    thread_.join();
}

bool PortCarrier::waits() const {
  for (const Carrier &port : ports_)
    if (port.down && !(port.counts->out.held_down && port.asked.down))
      return true;
  return false;
}

void PortCarrier::run() {
  const auto inside = netns_.enter();
  if (!inside) {
    for (Carrier &port : ports_)
      port.unable = FlapBy::Refused;
  }
  for (bool stop = false; !stop;) {
    std::array<Asked, kPorts> asked;
    {
      std::unique_lock lock(mutex_);
      const auto ready = [this] { return news_ || stop_; };
      if (waits())
        changed_.wait_for(lock, kCarrierLook, ready);
      else
        changed_.wait(lock, ready);
      news_ = false;
      stop = stop_;
      for (unsigned i = 0; i < kPorts; i++)
        asked[i] = ports_[i].asked;
    }
    for (unsigned i = 0; i < kPorts; i++)
      step(ports_[i], stop ? Asked{asked[i].flap, ports_[i].flaps, false} : asked[i]);
  }
}

FlapBy PortCarrier::way_of(const Carrier &port, const LinkFlap &flap) const {
  if (!flap.down)
    return FlapBy::None;
  if (flap.way == LinkFlap::Way::Drop)
    return FlapBy::Asked;
  if (port.unable != FlapBy::None)
    return port.unable;
  auto facts = host::read_link({port.ifname});
  if (facts && facts->stacked)
    return FlapBy::Stacked;
  if (flap.way == LinkFlap::Way::Carrier)
    return FlapBy::Carrier;
  if (flap.down < kShortest || flap.period - flap.down < kShortest)
    return FlapBy::Short;
  if (facts) {
    auto addresses = host::read_addresses(facts->ifindex);
    if (addresses && !addresses->empty())
      return FlapBy::Addresses;
  }
  return FlapBy::Carrier;
}

// A flap that was over before the port could follow still sets it down, and up at once.
void PortCarrier::step(Carrier &port, const Asked &asked) {
  WireEgress &counts = port.counts->out;
  if (!counts.held_down)
    counts.flap_by = way_of(port, asked.flap);
  if (std::exchange(port.flaps, asked.flaps) != asked.flaps && !counts.held_down &&
      counts.flap_by == FlapBy::Carrier)
    set_down(port, asked.flap);
  if (counts.held_down && !asked.down)
    set_up(port);
  if (!port.down || counts.held_down)
    return;
  auto facts = host::read_link({port.ifname});
  if (!facts || facts->running || !port.had_carrier || Clock::now() > port.waits_until)
    port.down = false;
}

// What the port's carrier does shows whether its peer can see it go down.
void PortCarrier::set_down(Carrier &port, const LinkFlap &flap) {
  WireEgress &counts = port.counts->out;
  auto before = host::read_link({port.ifname});
  if (!before || !before->up) // down already, and not by us
    return;
  port.had_carrier = before->running;
  counts.held_down = 1;
  port.down = true;
  if (host::set_up(port.ifname, false)) {
    auto after = host::read_link({port.ifname});
    if (after && !after->carrier) {
      counts.carrier_downs++;
      return;
    }
    port.unable = FlapBy::Keeps;
    set_up(port);
  } else {
    port.unable = FlapBy::Refused;
    counts.held_down = 0;
    port.down = false;
  }
  counts.flap_by = way_of(port, flap);
}

// If the kernel refuses, the next step tries again.
void PortCarrier::set_up(Carrier &port) {
  auto done = host::set_up(port.ifname, true);
  if (!done && host::read_link({port.ifname}))
    return;
  port.counts->out.held_down = 0;
  port.waits_until = Clock::now() + kCarrierPatience;
}

} // namespace xr::endpoint
