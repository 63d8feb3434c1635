// SPDX-License-Identifier: Apache-2.0
// Transfers that share links like fluids: each gets its max-min fair share (Bertsekas and Gallager,
// Data Networks, 6.5.2) at once when another begins or ends. No packets, no queues, no losses.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace xr::simulate {

class Fluid {
public:
  static constexpr uint64_t kNever = UINT64_MAX;

  // `rates`: of the links, bit/s.
  explicit Fluid(std::vector<double> rates);

  // `bits` begin to cross the links, one after the other where there are several for one `flow`.
  // The last of them arrives `latency_ns` after it was sent. `path` stays as long as this.
  void begin(uint64_t now, uint32_t flow, std::span<const uint32_t> path, double bits,
             uint64_t latency_ns);
  // What the flow has not sent is dropped.
  void stop(uint64_t now, uint32_t flow);

  // When take() may have something.
  uint64_t next() const;
  // A flow of which a transfer has arrived at or before `now`; false: none.
  bool take(uint64_t now, uint32_t &flow);

  // As of the last call of begin(), stop() or take(), and `now`.
  double sent_bits(uint64_t now, uint32_t flow) const;
  double link_bits(uint64_t now, uint32_t link) const;

private:
  struct Transfer {
    double bits = 0;
    uint64_t latency_ns = 0;
  };
  struct Flow {
    std::span<const uint32_t> path;
    std::vector<Transfer> waiting; // from `first` on; the first one is crossing
    size_t first = 0;
    double left = 0; // bits of the first one, as of `since_`
    double sent = 0; // bits, as of `since_`
    double rate = 0; // bit per ns
    bool active = false;
  };
  struct Link {
    double rate = 0; // bit per ns
    double sent = 0; // bits, as of `since_`
    double now = 0;  // bit per ns
    // of share():
    double free = 0;
    uint32_t open = 0; // flows without a rate
    uint64_t round = 0;
    std::vector<uint32_t> flows = {};
  };

  void run_until(uint64_t now);
  void advance(uint64_t now);
  void finish(uint64_t now);
  void share();
  Flow &flow_of(uint32_t flow);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> active_;
  uint64_t since_ = 0; // until when what has crossed is counted
  uint64_t next_end_ = kNever;
  uint64_t round_ = 0;
  bool changed_ = false;
  // Arrivals, by time and order.
  struct Arrival {
    uint64_t at, sequence;
    uint32_t flow;
    bool operator>(const Arrival &other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  uint64_t sequence_ = 0;
};

} // namespace xr::simulate
