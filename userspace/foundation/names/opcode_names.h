// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "roce/opcode.h"

namespace xr::names {

// A row of ROCE_OPCODES; CNP is not among them.
struct OpcodeName {
  std::string_view full;      // RC_SEND_ONLY, as in reports
  std::string_view operation; // SEND_ONLY
  uint8_t opcode;
};

inline constexpr OpcodeName kOpcodeNames[] = {
#define XR_ROW_(t, p, op, name, ext, props) {#t "_" #name, #name, (p) + (op)},
    ROCE_OPCODES(XR_ROW_)
#undef XR_ROW_
};

} // namespace xr::names
