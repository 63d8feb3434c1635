// SPDX-License-Identifier: Apache-2.0
// What the model of DCQCN (CoNEXT'16: ECN or Delay) predicts for N equal flows at one bottleneck:
// its fixed point, how long flows take to become fair, and whether the loop is stable. The model
// knows the paper's rules only: clamping, NIC arithmetic and stages after additive increase are not
// in it.
#pragma once

#include <cstdint>
#include <optional>

#include "congestion/dcqcn_parameters.h"

namespace xr::congestion {

struct Bottleneck {
  double line_bits = 0; // bit/s
  uint32_t flows = 1;
  double packet_bytes = 1000;
  uint64_t delay_ns = 4000; // from a mark to the rate that follows from it, without queueing
  double kmin = 0, kmax = 0, pmax = 0; // bytes, bytes, probability
};

// The model's constants in its units: packets and seconds.
struct ModelUnits {
  ModelUnits(const DcqcnSettings &settings, const Bottleneck &path);
  double c, rc;                   // the line, a fair share: packets/s
  double tau, tau_alpha, timer;   // of cuts, of alpha, of increases
  double bytes, f, rai, g;        // B (0: none), F, Rai
  double kmin, kmax, pmax, slope; // slope: probability per packet of queue
};

// a, b, c, d, e of the model for a marking probability `p` and a rate in packets/s.
struct ModelTerms {
  ModelTerms(const ModelUnits &units, double p, double rate);
  double a, b, c, d, e;
};

// Which regime holds. Kmax: the fixed point needs more marks than Pmax, so the queue sits on Kmax,
// and RED's slope does nothing. None: the least rates of all flows exceed the line.
enum class Applies : uint8_t { FixedPoint, Kmax, None };
const char *applies_name(Applies applies); // "fixed point", "kmax", "none"

struct FixedPoint {
  Applies applies = Applies::None;
  double mark_probability = 0;  // p*, of a packet
  double closed_form = 0;       // p* by the paper's approximation
  double queue_bytes = 0;       // q*; Kmax where that applies
  double queue_closed_form = 0; // by the closed form's p*, even beyond Kmax
  double alpha = 0;
  double share_bits = 0; // fair share, bit/s
};
FixedPoint fixed_point(const DcqcnSettings &settings, const Bottleneck &path);

// An upper bound of the time in which the difference of any two rates, at first the whole line,
// falls to 10 % of the fair share (CoNEXT'16, its figure's assumptions), in seconds; none for one
// flow.
std::optional<double> convergence_bound(const DcqcnSettings &settings, const Bottleneck &path);

// Phase margin in degrees of the model, linearised at the closed form's fixed point as the paper
// does; negative: it oscillates. None: the gain never is 1, or the numbers leave the range of a
// double (so with many flows). It ignores Kmax: where p* > Pmax it belongs to a switch with a
// larger Kmax.
std::optional<double> phase_margin(const DcqcnSettings &settings, const Bottleneck &path);

} // namespace xr::congestion
