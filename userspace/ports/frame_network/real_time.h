// SPDX-License-Identifier: Apache-2.0
// A simulated network in real time, with frames: hosts, queues and switches are the simulation's,
// by the clock, and each link's frames pass a pair of ports of this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "frame_network/packet_socket.h"
#include "simulate/simulation.h"

namespace xr::frame_network {

struct LinkEnd {
  std::string ifname;
  uint32_t netns = 0; // index of the namespaces
};
// Frames of wire 2i leave by the port `a` of link i and come to `b`, those of wire 2i + 1 the other
// way.
struct LinkPorts {
  LinkEnd a, b;
};

class RealTime : public simulate::Medium {
public:
  // `scale`: ns of the simulation in one of the clock. The simulation has to outlive the result.
  static Result<std::unique_ptr<RealTime>> open(simulate::Simulation &simulation,
                                                const std::vector<std::string> &netns,
                                                const std::vector<LinkPorts> &links, double scale);

  // Runs until the simulation is at `ns`, or done. Its time 0 is that of the first call.
  void run_until(uint64_t ns);
  // CLOCK_MONOTONIC at the simulation's start.
  uint64_t begun_ns() const { return begun_.value_or(0); }
  // Frames that the kernel did not take, or had no room for.
  uint64_t kernel_lost() const;

  void carry(uint32_t number, std::span<const uint8_t> frame) override;
  uint64_t stall_ns() const override;

private:
  struct Out {
    uint32_t socket = 0;
    unsigned ifindex = 0;
  };

  RealTime(simulate::Simulation &simulation, double scale)
      : simulation_(simulation), scale_(scale) {}
  Status add(uint32_t wire, const LinkEnd &from, const LinkEnd &to,
             const std::vector<std::string> &netns);
  uint64_t now() const;
  bool receive(uint64_t until);
  void wait(uint64_t until);

  simulate::Simulation &simulation_;
  const double scale_;
  std::optional<uint64_t> begun_;
  uint64_t slept_ = 0; // monotonic_ns() at the end of the last sleep
  std::vector<PacketSocket> sockets_;
  std::vector<Out> out_;                                      // by wire
  std::vector<std::unordered_map<unsigned, uint32_t>> wires_; // by socket and ifindex
};

} // namespace xr::frame_network
