// SPDX-License-Identifier: Apache-2.0
// Calls of a BPF helper taken out of an object file before it is loaded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace xr::datapath {

// A copy of `object` (ELF, 64-bit, this machine's byte order) in which each call of `helper` (enum
// bpf_func_id) is an instruction that returns -EOPNOTSUPP. The kernel looks for helpers that change
// packet data before it removes dead code, and refuses a program with one where libxdp's dispatcher
// has none (6.13, and the stable 6.6 and 6.12): what a feature that is off would call must be gone.
std::vector<uint8_t> without_calls(std::span<const uint8_t> object, int32_t helper);

} // namespace xr::datapath
