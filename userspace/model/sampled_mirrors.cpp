// SPDX-License-Identifier: Apache-2.0
#include "model/sampled_mirrors.h"

#include <map>

namespace xr {

namespace {

constexpr uint64_t kFewest = 16, kShare = 4;
constexpr unsigned kSessionShift = 48; // of a mark: ROCE_MARK_SHIFT

struct Sums {
  uint64_t packets = 0, gaps = 0;
  bool is_sampled() const { return gaps >= kFewest && kShare * gaps >= packets; }
};

} // namespace

void forgive_sampled(Snapshot &s) {
  std::map<uint64_t, Sums> sessions;
  for (size_t i = 0; i < s.mirrored.size() && i < s.streams.size(); i++) {
    if (!s.mirrored[i].mark || roce_key_kind(&s.streams[i].key) != ROCE_KIND_REQUEST)
      continue;
    Sums &sums = sessions[s.mirrored[i].mark >> kSessionShift];
    sums.packets += roce_stream_packets(&s.streams[i]);
    sums.gaps += roce_stream_counter(&s.streams[i], ROCE_GAPS);
  }
  s.sampled = 0;
  for (const auto &[session, sums] : sessions)
    s.sampled += sums.is_sampled();
  for (roce_mirrored &stream : s.mirrored)
    if (const auto found = sessions.find(stream.mark >> kSessionShift);
        found != sessions.end() && found->second.is_sampled())
      stream.network = 0;
}

} // namespace xr
