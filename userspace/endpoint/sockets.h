// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "afxdp/socket.h"
#include "base/result.h"
#include "datapath/steering.h"
#include "endpoint/port.h"
#include "endpoint/send.h"

namespace xr::endpoint {

// A socket on each of the lanes' queues; with `steering` they also receive.
Result<std::vector<std::unique_ptr<afxdp::Socket>>>
open_sockets(const Port &port, const Lanes &lanes, datapath::Steering *steering);

// What a user should know of a port that receives on more queues than the lanes have; "" if it does
// not.
std::string other_queues(const Port &port, const Lanes &lanes);

// The host answers for the neighbours of the addresses that it has, unless another MAC is to.
std::vector<datapath::Endpoint> endpoints_of(const Port &port,
                                             const std::vector<packet::Address> &addresses,
                                             const packet::Mac &mac);

} // namespace xr::endpoint
