// SPDX-License-Identifier: Apache-2.0
#include "endpoint/wire_direction.h"

#include "endpoint/wire_direction_loop.h"

namespace xr::endpoint {

template class BasicWireDirection<afxdp::ForwardSocket, SystemClock>;

} // namespace xr::endpoint
