// SPDX-License-Identifier: Apache-2.0
// What all sockets of this folder need when they are opened.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <linux/if_xdp.h>

#include "base/result.h"

// From kernel 6.6; missing in older headers.
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

namespace xr::afxdp {

// How long a previous socket of a queue may take to be closed.
inline constexpr auto kPatience = std::chrono::seconds(3);

// Entries of a ring: a power of two.
uint32_t ring_size(uint32_t entries);

// Raises the limit of locked memory as far as this process may; no error if it may not.
void raise_memlock();

// Why bind() failed with errno `error`. `several`: frames may be in several chunks.
Error bind_error(int error, const std::string &ifname, uint32_t queue, uint32_t longest,
                 bool several);

} // namespace xr::afxdp
