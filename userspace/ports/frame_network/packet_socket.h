// SPDX-License-Identifier: Apache-2.0
// Sends and receives whole frames by all ports of a network namespace: packet(7). AF_XDP would need
// a program and a socket at each end of each link; a run has up to 48 ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace xr::frame_network {

class PacketSocket {
public:
  // Receives the frames that arrive at any port of the namespace from now on.
  static Result<PacketSocket> open(const std::string &netns);

  struct Frame {
    unsigned ifindex = 0;
    std::span<const uint8_t> bytes; // valid until the next call
  };

  // Keeps a copy, which leaves with flush() or when there are kBatch of them.
  void send(unsigned ifindex, std::span<const uint8_t> frame);
  void flush();
  // Frames that have arrived; empty: none at the moment.
  std::span<const Frame> receive();

  int fd() const { return fd_.get(); }
  uint64_t refused() const { return refused_; } // frames that the kernel did not take
  // Received frames that found no room since the last call.
  uint64_t dropped() const;

private:
  static constexpr size_t kBatch = 32;
  static constexpr size_t kMostFrame = 10240; // bytes

  explicit PacketSocket(Fd fd);

  Fd fd_;
  uint64_t refused_ = 0;
  struct Waiting {
    unsigned ifindex = 0;
    std::vector<uint8_t> bytes;
  };
  std::array<Waiting, kBatch> out_;
  size_t waiting_ = 0;
  std::vector<uint8_t> in_;
  std::vector<Frame> frames_;
};

} // namespace xr::frame_network
