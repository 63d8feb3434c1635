// SPDX-License-Identifier: Apache-2.0
#include "afxdp/kernel_side.h"

#include <algorithm>
#include <cerrno>

#include <linux/if_xdp.h>
#include <sys/socket.h>

namespace xr::afxdp {

// One batch a call: 32 frames in copy mode.
int send_all(int fd, const xsk_ring_prod &tx, bool zero_copy, SendLosses &losses) {
  for (uint32_t before = unsent(tx);;) {
    if (sendto(fd, nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0) {
      switch (errno) {
      case EBUSY: // copy mode: the driver dropped a frame; the kernel completes it nevertheless
        losses.tx_dropped += zero_copy ? 0 : 1;
        break;
      case EAGAIN:
      case ENOBUFS:
      case EINTR:
        break;
      case ENETDOWN:
        losses.link_down++;
        return 0;
      default:
        return errno;
      }
    }
    const uint32_t left = unsent(tx);
    if (!left || left == before)
      return 0;
    before = left;
  }
}

KernelCounts kernel_counts(int fd, bool zero_copy) {
  KernelCounts counts;
  xdp_statistics kernel{};
  socklen_t size = sizeof(kernel);
  if (getsockopt(fd, SOL_XDP, XDP_STATISTICS, &kernel, &size) < 0)
    return counts;
  // In copy mode the kernel takes a chunk per frame, and a frame without a chunk also counts in
  // rx_dropped. In zero-copy the driver takes chunks, and the NIC's counters have its losses.
  counts.fill_ring_empty = kernel.rx_fill_ring_empty_descs;
  if (!zero_copy)
    counts.no_chunk = std::min(kernel.rx_dropped, kernel.rx_fill_ring_empty_descs);
  counts.ring_full = kernel.rx_ring_full;
  counts.refused = kernel.rx_dropped - counts.no_chunk + kernel.rx_invalid_descs;
  counts.tx_invalid = kernel.tx_invalid_descs;
  return counts;
}

} // namespace xr::afxdp
