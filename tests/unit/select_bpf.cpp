// SPDX-License-Identifier: Apache-2.0
// The replacement of a host instruction in BPF code, compiled for the host.
#include <cstdint>

#define __bpf__ // NOLINT: what clang defines for that target
#include "roce/match.h"

uint32_t lowest_in_bpf(uint64_t word);
uint32_t lowest_in_bpf(uint64_t word) { return roce_lowest(word); }
