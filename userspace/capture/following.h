// SPDX-License-Identifier: Apache-2.0
// The memory in which the native datapath follows QP pairs (include/roce/pair.h).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "model/episodes.h"
#include "roce/followed.h"

namespace xr {

struct Following {
  static constexpr size_t kPairs = 1 << 18;    // 1 KiB each
  static constexpr size_t kEpisodes = 1 << 20; // 112 bytes each
  static constexpr size_t kHints = 16384;

  std::vector<uint64_t> hints = std::vector<uint64_t>(kHints);
  std::vector<uint32_t> links;  // of each stream
  std::vector<uint32_t> places; // of each stream: its record + 1
  std::deque<roce_follow> records;
  std::vector<roce_episode> episodes;
  std::vector<roce_finding> findings;
  uint64_t pairs_full = 0, episodes_dropped = 0, findings_dropped = 0, unpaired = 0;

  // Null: there is no room for its record.
  roce_follow *record(uint32_t stream);
  // Null for a stream that does not exist.
  uint32_t *link(uint32_t stream) { return stream < links.size() ? &links[stream] : nullptr; }
  void add(const roce_episode &episode);
  void add(const roce_finding &finding);

  // Names the streams and puts the episodes in order of time. Call after the end.
  void fill(Episodes &into, const std::vector<roce_stream> &streams) const;
};

} // namespace xr
