// SPDX-License-Identifier: Apache-2.0
// The fluid model of DCQCN (CoNEXT'16): delay differential equations of rates, targets, alphas and
// the queue, integrated with a fixed step.
#pragma once

#include <cstdint>
#include <vector>

#include "congestion/theory.h"

namespace xr::congestion {

// Flows that start alike stay alike: one set of equations for all of them.
struct FluidGroup {
  uint32_t flows = 1;
  double rate_bits = 0; // at the start
};

struct FluidRun {
  std::vector<FluidGroup> groups; // empty: all flows at the line's rate
  uint64_t duration_ns = 400'000'000;
  uint64_t sample_ns = 100'000; // distance of the samples
  double buffer_bytes = 10e6;   // the queue grows no further
};

struct FluidSample {
  uint64_t t_ns;
  double queue_bytes;
  std::vector<double> rates; // bit/s, by group
  std::vector<double> alphas;
};

struct FluidResult {
  std::vector<FluidSample> samples;
  // In the last fifth of the time.
  double queue_mean = 0, queue_least = 0, queue_most = 0; // bytes
  double amplitude = 0;                                   // half of most - least
  double utilisation = 0;
  std::vector<double> rates; // means, bit/s, by group
  // The queue stays within 5 % of its mean (or one packet): it settles; else it oscillates.
  bool settles = false;
};

FluidResult integrate(const DcqcnSettings &settings, const Bottleneck &path, const FluidRun &run);

} // namespace xr::congestion
