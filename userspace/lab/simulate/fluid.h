// SPDX-License-Identifier: Apache-2.0
// Transfers that share links like fluids: each gets its max-min fair share (Bertsekas and Gallager,
// Data Networks, 6.5.2) at once when another begins or ends. No packets, no queues, no losses.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "base/time.h"

namespace xr::simulate {

class Fluid {
public:
  // `rates`: of the links, bit/s.
  explicit Fluid(std::vector<double> rates);

  // `bits` begin to cross the links, one after the other where there are several for one `flow`.
  // The last of them arrives `latency_ns` after it was sent. `path` stays as long as this.
  void begin(uint64_t now, uint32_t flow, std::span<const uint32_t> path, double bits,
             uint64_t latency_ns);
  // What the flow has not sent is dropped.
  void stop(uint64_t now, uint32_t flow);

  // When take() may have something.
  uint64_t next();
  // A flow of which a transfer has arrived at or before `now`; false: none.
  bool take(uint64_t now, uint32_t &flow);

  // Until `now`, which take() has reached.
  double sent_bits(uint64_t now, uint32_t flow) const;
  double link_bits(uint64_t now, uint32_t link) const;

private:
  struct Transfer {
    double bits = 0;
    uint64_t latency_ns = 0;
  };
  struct Flow {
    std::span<const uint32_t> path = {};
    std::vector<Transfer> waiting = {}; // from `first` on; the first one is crossing
    size_t first = 0;
    double left = 0; // bits of the first one, as of `since`
    double sent = 0; // bits, as of `since`
    double rate = 0; // bit per ns
    uint64_t since = 0;
    uint32_t version = 0; // of its rate, for ends_
    bool active = false;
    uint64_t round = 0; // of share()
  };
  struct Link {
    double rate = 0; // bit per ns
    double sent = 0; // bits, as of `since`
    double now = 0;  // bit per ns
    uint64_t since = 0;
    std::vector<uint32_t> flows = {}; // active ones
    // of share():
    double free = 0;
    uint32_t open = 0; // flows without a rate
    uint64_t round = 0;
  };
  struct Time {
    uint64_t at, order;
    uint32_t flow, version;
    bool operator>(const Time &other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  using Times = std::priority_queue<Time, std::vector<Time>, std::greater<>>;

  void run_until(uint64_t now);
  void finish(uint64_t now);
  void share(uint64_t now);
  void collect();
  void fill(uint64_t now);
  void settle(uint64_t now, uint32_t number);
  void set_end(uint64_t now, uint32_t number);
  void change(uint32_t number);
  uint64_t next_end();
  Flow &flow_of(uint32_t flow);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> changed_;           // flows that began or ended since the last share()
  std::vector<uint32_t> open_links_, open_; // of share(): that may get another rate; flows
  uint64_t now_ = 0;
  uint64_t round_ = 0, order_ = 0;
  Times ends_;     // when the last bit leaves; of an old version: not valid
  Times arrivals_; // when it arrives
};

} // namespace xr::simulate
