// SPDX-License-Identifier: Apache-2.0
// A question to the theory of DCQCN (CoNEXT'16: ECN or Delay) and its answers, values:
// congestion/prediction.h computes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rate/dcqcn_parameters.h"

namespace xr::congestion {

struct Bottleneck {
  double line_bits = 0; // bit/s
  uint32_t flows = 1;
  double packet_bytes = 1000;
  uint64_t delay_ns = 4000; // from a mark to the rate that follows from it, without queueing
  double kmin = 0, kmax = 0, pmax = 0; // bytes, bytes, probability
};

// Which regime holds. Kmax: the fixed point needs more marks than Pmax, so the queue sits on Kmax,
// and RED's slope does nothing. None: the least rates of all flows exceed the line.
enum class Applies : uint8_t { FixedPoint, Kmax, None };
inline const char *applies_name(Applies applies) {
  constexpr const char *kNames[] = {"fixed point", "kmax", "none"};
  return kNames[static_cast<size_t>(applies)];
}

struct FixedPoint {
  Applies applies = Applies::None;
  double mark_probability = 0;  // p*, of a packet
  double closed_form = 0;       // p* by the paper's approximation
  double queue_bytes = 0;       // q*; Kmax where that applies
  double queue_closed_form = 0; // by the closed form's p*, even beyond Kmax
  double alpha = 0;
  double share_bits = 0; // fair share, bit/s
};
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

struct Question {
  DcqcnParameters parameters;
  Bottleneck path; // kmin, kmax and pmax are filled in by predict(), from `parameters`
  FluidRun run;
  uint32_t odd_flows = 0; // flows that start at `odd_rate_bits`, the others at the line's rate
  double odd_rate_bits = 0;
};

struct Prediction {
  Bottleneck path;
  FixedPoint point;
  std::optional<double> convergence_s, phase_margin;
  FluidResult fluid;
};

struct Answer {
  Prediction stated;
  // With the marking slope ten times as long (Kmax - Kmin and Pmax): the program that drew
  // CoNEXT'16's figure of stability has it, its text has not. Only for the text's values.
  std::optional<Prediction> published;
};

} // namespace xr::congestion
