// SPDX-License-Identifier: Apache-2.0
// The rules of an experiment, what the schedule does to them, and its captures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "simulate/rule_setup.h"

namespace xr::experiment {

using simulate::capture_port_name;
using simulate::CaptureSetup;
using simulate::RuleChange;
using simulate::Rules;
using simulate::RuleSetup;

// `qp N psn ...` becomes the QPN of the N-th of the experiment's `qps` QPs, which are numbered from
// `first`, whatever a port sees first.
Status number_qps(impair::RuleSpec &rule, uint32_t first, uint32_t qps);

} // namespace xr::experiment
