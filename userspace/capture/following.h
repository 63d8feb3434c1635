// SPDX-License-Identifier: Apache-2.0
// The memory in which the native datapath follows QP pairs (include/roce/pair.h).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "model/episodes.h"
#include "roce/followed.h"

namespace xr {

// The times between the CNPs of each source.
class CnpTimes {
public:
  static constexpr size_t kQps = 1 << 16; // remembered; more are counted

  void add(const roce_key &key, uint64_t ns);
  void fill(Episodes &into) const;

private:
  struct Last {
    uint64_t ns = 0, least = UINT64_MAX;
    uint64_t count = 0;
    void add(uint64_t now);
  };
  using Name = std::array<uint32_t, 9>; // source, destination and QP, or zeros
  std::map<Name, Last> qps_, destinations_, sources_;
  uint64_t forgotten_ = 0;
};

struct Following {
  static constexpr size_t kPairs = 1 << 18;    // 1 KiB each
  static constexpr size_t kEpisodes = 1 << 20; // 112 bytes each

  std::vector<uint32_t> places; // of each stream: its record + 1
  std::deque<roce_follow> records;
  std::vector<roce_episode> episodes;
  std::vector<roce_finding> findings;
  uint64_t pairs_full = 0, episodes_dropped = 0, findings_dropped = 0, unpaired = 0;

  CnpTimes cnps;

  // Null: there is no room for its record.
  roce_follow *record(uint32_t stream);
  void add(const roce_episode &episode);
  void add(const roce_finding &finding);

  // Names the streams and puts the episodes in order of time. Call after the end.
  void fill(Episodes &into, const std::vector<roce_stream> &streams) const;
};

} // namespace xr
