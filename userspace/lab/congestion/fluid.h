// SPDX-License-Identifier: Apache-2.0
// The fluid model of DCQCN (CoNEXT'16): delay differential equations of rates, targets, alphas and
// the queue, integrated with a fixed step.
#pragma once

#include "rate/prediction.h"

namespace xr::congestion {

FluidResult integrate(const DcqcnSettings &settings, const Bottleneck &path, const FluidRun &run);

} // namespace xr::congestion
