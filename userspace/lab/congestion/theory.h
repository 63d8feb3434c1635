// SPDX-License-Identifier: Apache-2.0
// What the model of DCQCN (CoNEXT'16: ECN or Delay) predicts for N equal flows at one bottleneck:
// its fixed point, how long flows take to become fair, and whether the loop is stable. The model
// knows the paper's rules only: clamping, NIC arithmetic and stages after additive increase are not
// in it.
#pragma once

#include <cstdint>
#include <optional>

#include "rate/dcqcn_parameters.h"
#include "rate/prediction.h"

namespace xr::congestion {

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
