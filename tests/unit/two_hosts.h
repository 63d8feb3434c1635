// SPDX-License-Identifier: Apache-2.0
// Two hosts in virtual time, and a wire between them that loses the frames that a test chooses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <queue>

#include "unit/outgoing.h"

namespace xr::test {

using Bytes = std::vector<uint8_t>;

// Frames on their way, to B or to A.
class Wire {
public:
  void put(uint64_t at, bool to_b, Bytes bytes) {
    frames_.push({at, number_++, to_b, std::move(bytes)});
  }
  uint64_t next_at() const { return frames_.empty() ? kNever : frames_.top().at; }
  // `receive` gets what has arrived by now.
  void deliver(uint64_t now, const std::function<void(bool to_b, const Bytes &)> &receive) {
    for (; next_at() <= now; frames_.pop())
      receive(frames_.top().to_b, frames_.top().bytes);
  }

private:
  struct Frame {
    uint64_t at, number;
    bool to_b;
    Bytes bytes;
    bool operator<(const Frame &other) const {
      return std::pair(at, number) > std::pair(other.at, other.number);
    }
  };
  std::priority_queue<Frame> frames_;
  uint64_t number_ = 0;
};

class TwoHosts : public testing::Test {
protected:
  static constexpr uint64_t kDelayNs = 5'000;

  virtual packet::Source &host(bool b) = 0;

  void run_until(uint64_t end) {
    while (now_ < end) {
      wire_.deliver(now_, [&](bool to_b, const Bytes &bytes) {
        packet::deliver_frame(host(to_b), now_, bytes);
      });
      for (const bool b : {false, true})
        send(host(b), !b);
      const uint64_t next =
          std::min({host(false).wake_at(), host(true).wake_at(), wire_.next_at(), end});
      now_ = std::max(now_ + 1, next);
    }
  }
  void run_for(uint64_t ns) { run_until(now_ + ns); }

  std::function<bool(bool to_b, const Bytes &)> lose_;
  Wire wire_;
  uint64_t now_ = 1;

private:
  void send(packet::Source &from, bool to_b) {
    std::array<packet::Outgoing, 16> out;
    while (const size_t count = from.next(now_, out))
      for (size_t i = 0; i < count; i++) {
        Bytes bytes = bytes_of(out[i]);
        if (out[i].damage == packet::Damage::Icrc)
          bytes.back() ^= 1;
        if (!lose_ || !lose_(to_b, bytes))
          wire_.put(now_ + kDelayNs, to_b, std::move(bytes));
      }
  }
};

} // namespace xr::test
