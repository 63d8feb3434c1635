// SPDX-License-Identifier: Apache-2.0
// What the kernel does with the rings of a socket: it sends, and it counts losses.
#pragma once

#include <cstdint>

#include <xdp/xsk.h>

namespace xr::afxdp {

struct SendLosses {
  uint64_t tx_dropped = 0; // by the driver
  uint64_t link_down = 0;  // attempts to send while the port was down
};

// Chunks on the TX ring that the kernel has not taken.
inline uint32_t unsent(const xsk_ring_prod &tx) {
  return *tx.producer - __atomic_load_n(tx.consumer, __ATOMIC_ACQUIRE);
}

// Makes the kernel send what is on the TX ring, as far as it can now. Returns 0, or an errno with
// which it can no longer send.
int send_all(int fd, const xsk_ring_prod &tx, bool zero_copy, SendLosses &losses);

// XDP_STATISTICS, divided by cause. All 0 if the kernel has none.
struct KernelCounts {
  uint64_t no_chunk = 0;        // copy mode: no free chunk in the fill ring
  uint64_t fill_ring_empty = 0; // attempts to take a chunk from an empty ring
  uint64_t ring_full = 0;       // the process read too slowly
  uint64_t refused = 0;         // received frames and descriptors that the kernel refused
  uint64_t tx_invalid = 0;      // descriptors of the TX ring
};
KernelCounts kernel_counts(int fd, bool zero_copy);

} // namespace xr::afxdp
