// SPDX-License-Identifier: Apache-2.0
// What the theory of DCTCP, HPCC, Swift and Copa says of equal flows at one queue, values:
// congestion/steady_state.h computes them.
#pragma once

#include <cstdint>
#include <optional>

#include "rate/control.h"

namespace xr::congestion {

struct SteadyQuestion {
  Control control; // DCTCP, HPCC, Swift or Copa
  uint32_t flows = 2, switches = 1;
  double line_bits = 0, packet_bytes = 1000; // of a frame
  uint64_t rtt_ns = 4000;                    // without queues
  double threshold_bytes = 0;                // DCTCP: the switch marks from it on
};

// A queue that swings.
struct QueueCycle {
  double alpha = 0, period_ns = 0;
  double least = 0, most = 0, mean = 0; // bytes
  double utilisation = 1;
};

struct SteadyState {
  double share_bits = 0, utilisation = 1;    // of each flow, of the line
  double rtt_ns = 0, window_packets = 0;     // with the queue
  double queue_bytes = 0, queue_each = 0;    // mean; packets of each flow in it
  std::optional<double> target_ns;           // Swift
  std::optional<QueueCycle> windowed, rated; // DCTCP: of its paper; of rates, as it is here
};

} // namespace xr::congestion
