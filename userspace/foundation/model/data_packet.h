// SPDX-License-Identifier: Apache-2.0
// What a data packet is, wherever they are counted.
#pragma once

#include <cstdint>

#include "roce/opcode.h"

namespace xr {

// It carries a request or its data: requests, READ responses and ATOMIC ACKs of RC, UC and XRC,
// whose PSNs show what was lost. Datagrams are a kind of their own. `info`: of roce_opcode_info or
// roce_opcode_properties.
constexpr bool is_data(uint64_t info) {
  return !(info & (ROCE_OP_CNP | ROCE_OP_DATAGRAM)) &&
         info & (ROCE_OP_REQUEST | ROCE_OP_READ_RESPONSE | ROCE_OP_ATOMIC);
}

} // namespace xr
