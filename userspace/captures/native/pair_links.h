// SPDX-License-Identifier: Apache-2.0
// The memory in which the native datapath links the streams of QP pairs (include/roce/link.h).
#pragma once

#include <cstdint>
#include <vector>

#include "model/pair_name.h"
#include "roce/stream.h"

namespace xr {

struct PairLinks {
  static constexpr size_t kHints = 16384;

  std::vector<__u64> hints = std::vector<__u64>(kHints);
  std::vector<uint32_t> links; // of each stream

  // Null for a stream that does not exist.
  uint32_t *link(uint32_t stream) { return stream < links.size() ? &links[stream] : nullptr; }
};

// Stream `id`; the DestQP of `other`, the other direction, is the QPN of its sender.
PairName pair_name(const std::vector<roce_stream> &streams, uint32_t id, uint32_t other);

} // namespace xr
