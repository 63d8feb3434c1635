// SPDX-License-Identifier: Apache-2.0
// An afxdp::ForwardSocket whose rings are in memory, and whose kernel and port do in virtual time
// what a test says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "afxdp/shared_umem.h"
#include "roce/hold.h"
#include "unit/fake_clock.h"
#include "unit/fake_socket.h"

namespace xr::test {

class FakeForwardSocket {
public:
  using Bytes = std::vector<uint8_t>;

  // `ring`: frames that each ring has room for.
  FakeForwardSocket(FakeTime &time, afxdp::ChunkMemory &memory, uint32_t ring = 4096)
      : time_(time), memory_(memory), ring_(ring) {}

  // --- For the test.
  uint64_t frame_ns = 100;       // the port sends a frame in this time, one after the other
  uint64_t stopped_until = 0;    // the kernel takes no frame before this time
  uint64_t gone_at = UINT64_MAX; // then the port is gone
  std::function<Taken(const Bytes &)> taken = [](const Bytes &) { return Taken::Sent; };
  std::vector<FakeSocket::Sent> sent;
  // In ascending order of time. With magic 0 the frame has no metadata.
  void arrive(uint64_t at, Bytes bytes, const roce_held &held = {}) {
    coming_.push_back({at, std::move(bytes), held});
  }
  uint64_t next_arrival() const {
    return !arrived_.empty() ? time_.now : coming_.empty() ? UINT64_MAX : coming_.front().at;
  }
  // Frames that have not arrived, or wait to be received.
  size_t not_received() const { return coming_.size() + arrived_.size(); }
  // Chunks that the kernel has.
  size_t chunks() const { return fill_.size() + arrived_.size() + on_the_way_; }

  // --- As of afxdp::ForwardSocket; every frame is in one chunk.
  int fd() const { return -1; }
  bool zero_copy() const { return false; }
  void fill(afxdp::ChunkPool &pool) {
    while (fill_.size() < ring_ && pool.free())
      fill_.push_back(pool.take());
  }
  size_t receive(std::span<uint32_t> frames) {
    fill_ring();
    size_t count = 0;
    for (; count < frames.size() && !arrived_.empty(); count++) {
      frames[count] = arrived_.front();
      arrived_.pop_front();
    }
    return count;
  }
  uint32_t room(uint32_t /*enough*/) {
    transmit();
    return ring_ - std::min(ring_, static_cast<uint32_t>(
                                       std::max<size_t>(put_.size() + queue_.size(), on_the_way_)));
  }
  bool put(uint32_t frame) {
    if (!room(1))
      return false;
    put_.push_back({frame, 0});
    on_the_way_++;
    return true;
  }
  Status flush() {
    if (time_.now >= gone_at)
      return Error{"the port can no longer send"};
    for (const Queued &one : put_)
      queue_.push_back({one.frame, time_.now});
    put_.clear();
    return {};
  }
  void complete(afxdp::ChunkPool &pool) {
    transmit();
    on_the_way_ -= static_cast<uint32_t>(completed_.size());
    for (const uint32_t frame : completed_)
      pool.give(frame);
    completed_.clear();
  }
  uint32_t in_transmission() const { return on_the_way_; }
  afxdp::KernelCounts kernel() const { return kernel_; }
  const afxdp::SendLosses &lost() const { return lost_; }

private:
  static constexpr uint32_t kHeadroom = 256;
  struct Queued {
    uint32_t frame;
    uint64_t flushed;
  };
  struct Arrival {
    uint64_t at;
    Bytes bytes;
    roce_held held;
  };

  // The port sends what it could have sent until now.
  void transmit() {
    while (!queue_.empty()) {
      const Queued one = queue_.front();
      const uint64_t done = std::max({one.flushed, port_free_, stopped_until}) + frame_ns;
      if (done > time_.now)
        return;
      port_free_ = done;
      queue_.pop_front();
      completed_.push_back(one.frame);
      const std::span<uint8_t> bytes = memory_.first(one.frame);
      finish({one.flushed, done, Bytes(bytes.begin(), bytes.end())});
    }
  }

  void finish(FakeSocket::Sent frame) {
    const Taken fate = taken(frame.bytes);
    lost_.tx_dropped += fate == Taken::Dropped;
    kernel_.tx_invalid += fate == Taken::Invalid;
    if (fate == Taken::Sent)
      sent.push_back(std::move(frame));
  }

  // Puts what has arrived until now on the RX ring, with its metadata in front of it.
  void fill_ring() {
    for (; !coming_.empty() && coming_.front().at <= time_.now; coming_.pop_front()) {
      if (arrived_.size() >= ring_)
        kernel_.ring_full++;
      else if (fill_.empty())
        kernel_.no_chunk++;
      else
        arrived_.push_back(write(coming_.front()));
    }
  }

  uint32_t write(const Arrival &arrival) {
    const uint32_t chunk = fill_.front();
    fill_.pop_front();
    memory_.piece(chunk) = {kHeadroom, static_cast<uint32_t>(arrival.bytes.size()),
                            afxdp::ChunkMemory::kNone};
    const std::span<uint8_t> bytes = memory_.first(chunk);
    memcpy(bytes.data(), arrival.bytes.data(), bytes.size());
    if (arrival.held.magic)
      memcpy(bytes.data() - sizeof(roce_held), &arrival.held, sizeof(roce_held));
    return chunk;
  }

  FakeTime &time_;
  afxdp::ChunkMemory &memory_;
  uint32_t ring_;
  std::deque<uint32_t> fill_;
  std::deque<Arrival> coming_;
  std::deque<uint32_t> arrived_; // the RX ring
  std::vector<Queued> put_;
  std::deque<Queued> queue_; // the TX ring
  std::vector<uint32_t> completed_;
  uint32_t on_the_way_ = 0; // put and not completed
  uint64_t port_free_ = 0;  // the time at which the last frame had left
  afxdp::KernelCounts kernel_;
  afxdp::SendLosses lost_;
};

} // namespace xr::test
