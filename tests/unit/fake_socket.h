// SPDX-License-Identifier: Apache-2.0
// An afxdp::Socket whose rings are in memory, and whose kernel and port do in virtual time what a
// test says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "afxdp/socket.h"
#include "unit/fake_clock.h"

namespace xr::test {

// What becomes of a frame that the kernel takes from the TX ring.
enum class Taken : uint8_t { Sent, Dropped, Invalid }; // Dropped: by the driver

class FakeSocket {
public:
  using Bytes = std::vector<uint8_t>;
  struct Sent {
    uint64_t flushed = 0, done = 0;
    Bytes bytes;
  };

  FakeSocket(FakeTime &time, uint32_t slots = 1024, uint32_t receive = 4096)
      : time_(time), memory_(slots, Bytes(2048, 0xee)), ring_(receive),
        chunks_(receive + kInProcess) {
    for (uint32_t slot = slots; slot-- > 0;)
      free_.push_back(slot);
  }

  // --- For the test.
  uint64_t frame_ns = 100;       // the port sends a frame in this time, one after the other
  uint64_t stopped_until = 0;    // the kernel takes no frame before this time
  uint64_t gone_at = UINT64_MAX; // then the port is gone
  std::function<Taken(const Bytes &)> taken = [](const Bytes &) { return Taken::Sent; };
  std::function<void()> on_receive = [] {}; // called in each round of the loop
  std::vector<Sent> sent;
  uint64_t waits = 0, longest_wait = 0;
  // In ascending order of time.
  void arrive(uint64_t at, Bytes bytes) { coming_.push_back({at, std::move(bytes)}); }
  // Frames that have not arrived, or wait to be received.
  size_t not_received() const { return coming_.size() + arrived_.size(); }

  // --- As of afxdp::Socket.
  bool zero_copy() const { return false; }
  uint32_t longest() const { return 1514; }
  uint32_t slots() const { return static_cast<uint32_t>(memory_.size()); }
  uint8_t *slot(uint32_t index) { return memory_[index].data(); }
  uint32_t free_slots() {
    transmit();
    return static_cast<uint32_t>(free_.size());
  }
  uint32_t on_the_way() { return slots() - free_slots(); }
  uint32_t take() {
    const uint32_t slot = free_.back(); // the loop must not ask for more than are free
    free_.pop_back();
    return slot;
  }
  void put(uint32_t slot, uint32_t length) { put_.push_back({slot, length, 0}); }
  Status flush() {
    if (gone() && !put_.empty())
      return Error{"the port can no longer send"};
    for (Queued &one : put_) {
      one.flushed = time_.now;
      queue_.push_back(one);
    }
    put_.clear();
    return {};
  }
  afxdp::Socket::Unsent unsent_frames() {
    transmit();
    afxdp::Socket::Unsent unsent;
    for (const Queued &one : queue_)
      unsent = {unsent.frames + 1, unsent.bytes + one.length};
    return unsent;
  }
  size_t receive(std::span<afxdp::Received> out) {
    on_receive();
    fill_ring();
    size_t count = 0;
    for (; count < out.size() && !arrived_.empty(); count++) {
      reading_.push_back(std::move(arrived_.front()));
      arrived_.pop_front();
      out[count] = {reading_.back().data(), static_cast<uint32_t>(reading_.back().size())};
    }
    return count;
  }
  void release() { reading_.clear(); }
  bool wait(uint64_t ns) {
    waits++;
    longest_wait = std::max(longest_wait, ns);
    const uint64_t end = time_.now + ns;
    fill_ring();
    if (arrived_.empty())
      time_.now = coming_.empty() ? end : std::min(end, coming_.front().at);
    return true;
  }
  Status check() const { return gone() ? Status(Error{"the port is gone"}) : Status(); }
  SocketCounts counts() const { return counts_; }

private:
  static constexpr size_t kInProcess = 128;
  struct Queued {
    uint32_t slot, length;
    uint64_t flushed;
  };
  struct Arrival {
    uint64_t at;
    Bytes bytes;
  };

  bool gone() const { return time_.now >= gone_at; }

  // The port sends what it could have sent until now.
  void transmit() {
    while (!queue_.empty()) {
      const Queued one = queue_.front();
      const uint64_t done = std::max({one.flushed, port_free_, stopped_until}) + frame_ns;
      if (done > time_.now)
        return;
      port_free_ = done;
      queue_.pop_front();
      free_.push_back(one.slot);
      const uint8_t *bytes = slot(one.slot);
      finish({one.flushed, done, Bytes(bytes, bytes + one.length)});
    }
  }

  void finish(Sent frame) {
    const Taken fate = taken(frame.bytes);
    counts_.tx_dropped += fate == Taken::Dropped;
    counts_.tx_invalid += fate == Taken::Invalid;
    if (fate == Taken::Sent)
      sent.push_back(std::move(frame));
  }

  // Puts what has arrived until now on the RX ring.
  void fill_ring() {
    for (; !coming_.empty() && coming_.front().at <= time_.now; coming_.pop_front()) {
      if (arrived_.size() + reading_.size() >= chunks_)
        counts_.rx_no_chunk++;
      else if (arrived_.size() >= ring_)
        counts_.rx_ring_full++;
      else
        arrived_.push_back(std::move(coming_.front().bytes));
    }
  }

  FakeTime &time_;
  std::vector<Bytes> memory_; // by slot
  size_t ring_, chunks_;
  std::vector<uint32_t> free_;
  std::vector<Queued> put_;
  std::deque<Queued> queue_; // the TX ring
  uint64_t port_free_ = 0;   // the time at which the last frame had left
  std::deque<Arrival> coming_;
  std::deque<Bytes> arrived_; // the RX ring
  std::deque<Bytes> reading_; // received, not released
  SocketCounts counts_;
};

} // namespace xr::test
