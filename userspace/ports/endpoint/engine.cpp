// SPDX-License-Identifier: Apache-2.0
#include "endpoint/engine.h"

#include "endpoint/engine_loop.h"

namespace xr::endpoint {

template class BasicEngine<afxdp::Socket, SystemClock>;

} // namespace xr::endpoint
