// SPDX-License-Identifier: Apache-2.0
// Flaps of the links of a wire's ports by carrier: the port is set down, so that its peer sees the
// link go down, and up again. One thread, begun with the first such flap: the kernel may take long
// to set a port down, and frames of the other port must not wait for it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "host/netns.h"
#include "model/link.h"
#include "model/wire_counts.h"

namespace xr::endpoint {

class PortCarrier {
public:
  static constexpr unsigned kPorts = 2;

  // `counts` are valid until stop().
  PortCarrier(host::Netns netns, const std::array<std::string, kPorts> &ifnames,
              const std::array<WirePortCounts *, kPorts> &counts);
  PortCarrier(const PortCarrier &) = delete;
  PortCarrier &operator=(const PortCarrier &) = delete;
  ~PortCarrier() { stop(); }

  // For one thread: the flap of the link of `port`, whenever its words change.
  void configure(unsigned port, const LinkFlap &flap);
  // For any thread: `flaps` have begun, and the last of them holds the link down, or has ended.
  void set(unsigned port, uint64_t flaps, bool down);
  // For any thread: frames that are sent by the port now are lost.
  bool down(unsigned port) const { return ports_[port].down.load(std::memory_order_relaxed); }
  // Sets the ports up that are down because of a flap, and ends the thread.
  void stop();

private:
  using Clock = std::chrono::steady_clock;
  // What is asked of a port.
  struct Asked {
    LinkFlap flap;
    uint64_t flaps = 0;
    bool down = false;
    bool operator==(const Asked &) const = default;
  };
  struct Carrier {
    std::string ifname;
    WirePortCounts *counts = nullptr;
    Asked asked; // under mutex_
    // Of the thread.
    uint64_t flaps = 0;              // performed, or passed over
    FlapBy unable = FlapBy::None;    // what the port has shown
    bool had_carrier = false;        // before it was set down
    Clock::time_point waits_until{}; // for its carrier, after it was set up
    std::atomic<bool> down{false};
  };

  void run();
  FlapBy way_of(const Carrier &port, const LinkFlap &flap) const;
  void step(Carrier &port, const Asked &asked);
  void set_down(Carrier &port, const LinkFlap &flap);
  void set_up(Carrier &port);
  bool waits() const; // a port is to be looked at soon

  host::Netns netns_;
  std::array<Carrier, kPorts> ports_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = false, stop_ = false; // under mutex_
  std::thread thread_;
};

} // namespace xr::endpoint
