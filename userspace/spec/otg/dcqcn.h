// SPDX-License-Identifier: Apache-2.0
// dcqcn_settings of a port, read and written by one table of parameters.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "otg/config.h"
#include "otg/object.h"

namespace xr::otg {

void read_dcqcn(Object &object, PortOptions &options);

// A parameter by our name (`cc show dcqcn`), in the unit that OTG has it in: alpha-initial and g as
// parts of 1, times in us, first-cnp and max-cut in % of the rate before, min-rate, rai and rhai in
// % of the line's rate, byte-counter in units of 64 bytes (those of our preset `otg`), clamp 0
// or 1.
using DcqcnValue = std::function<double(std::string_view name)>;
// dcqcn_settings with all parameters. What OTG has as a whole number is rounded, and what is beyond
// its limits becomes the limit: `notes` have both values.
Json dcqcn_settings(const DcqcnValue &value, std::vector<std::string> &notes);

} // namespace xr::otg
