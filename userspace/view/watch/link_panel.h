// SPDX-License-Identifier: Apache-2.0
// The link of a wire's port: what leaves by the port, and its queue.
#pragma once

#include <vector>

#include "watch/model.h"

namespace xr::watch {

// Rate, utilisation, backlog and sojourn time; then losses, marks and pauses, if there are any.
// Empty: the port has no link. Backlog and sojourn quantiles are since the link began.
std::vector<Line> link_lines(const State &state, size_t width);

} // namespace xr::watch
