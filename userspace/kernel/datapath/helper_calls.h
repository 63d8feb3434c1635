// SPDX-License-Identifier: Apache-2.0
// Removes or replaces calls of a BPF helper in an object file before it is loaded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <linux/bpf.h>

namespace xr::datapath {

// Returns a copy of `object` (ELF, 64-bit, host byte order) in which each call of `helper` (enum
// bpf_func_id) is replaced by an instruction that sets R0 to -EOPNOTSUPP. Reason: the kernel
// searches for helpers that change packet data before it removes dead code, and refuses such a
// program under a dispatcher without such helpers (6.13, and stable 6.6 and 6.12). So the calls of
// a feature that is off must not be in the code at all.
std::vector<uint8_t> without_calls(std::span<const uint8_t> object, int32_t helper);
// Replaces them by another instruction.
std::vector<uint8_t> replace_calls(std::span<const uint8_t> object, int32_t helper,
                                   const bpf_insn &instead);

} // namespace xr::datapath
