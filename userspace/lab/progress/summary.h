// SPDX-License-Identifier: Apache-2.0
// What a job took, and why: times of its steps, and for each the operation chain that decided when
// it ended (each operation waited for the last of its needs).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/experiment.h"
#include "progress/progress.h"

namespace xr::progress {

// What is known of the way of a message.
struct Way {
  std::optional<uint64_t> idle_ns; // that it takes alone; unset: not known
  bool sent_again = false;         // its connection has lost packets
  std::string queue;               // the longest one on its way
  // The links that it passes, and which of them has the longest queue; unset: none has one.
  struct Link {
    uint32_t number = 0;
    double byte_ns = 0;   // that a byte takes
    uint64_t busy_ns = 0; // of the whole run, with the frames of others
  };
  std::vector<Link> links;
  std::optional<uint32_t> longest;
};
using WayOf = std::function<Way(uint32_t operation)>;

// What is less than `least_share` of a step is no reason for its time.
ExperimentJob summarise(const JobProgress &progress, const WayOf &way_of,
                        double least_share = 0.01);

} // namespace xr::progress
