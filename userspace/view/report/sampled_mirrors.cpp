// SPDX-License-Identifier: Apache-2.0
#include "report/sampled_mirrors.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "roce/stream.h"

namespace xr::report {

namespace {

struct Seen {
  uint64_t gaps = 0, packets = 0;
};

// A session's request and response streams.
using Session = std::array<Seen, 2>;

// From the slots in the marks of streams to the places of the sessions in `mirrors`.
class Sessions {
public:
  explicit Sessions(const Snapshot &s) {
    for (size_t place = 0; place < s.mirror_slots.size(); place++)
      places_.emplace(s.mirror_slots[place], place);
  }

  // By which the stream came.
  template <typename Do> void each(const roce_mirrored &stream, Do &&with) const {
    for (const uint64_t mark : {uint64_t{stream.mark}, uint64_t{stream.other}}) {
      const auto slot = static_cast<uint32_t>(mark >> ROCE_MARK_SHIFT);
      const auto found = slot ? places_.find(slot - 1) : places_.end();
      if (found != places_.end())
        with(found->second);
    }
  }

private:
  std::unordered_map<uint32_t, size_t> places_;
};

// A gap in the session's own numbers explains a gap in the PSNs.
bool looks_sampled(const Seen &of, const roce_mirror &mirror) {
  const uint64_t gaps = of.gaps - std::min<uint64_t>(of.gaps, mirror.gaps);
  return gaps >= kSampledGaps && gaps * kSampledPackets >= of.packets;
}

} // namespace

std::vector<bool> sampled_mirrors(const Snapshot &s) {
  const Sessions sessions(s);
  std::vector<Session> seen(s.mirrors.size());
  for (size_t i = 0; i < std::min(s.streams.size(), s.mirrored.size()); i++) {
    const roce_stream &stream = s.streams[i];
    sessions.each(s.mirrored[i], [&](size_t place) {
      Seen &of = seen[place][roce_key_kind(&stream.key) == ROCE_KIND_RESPONSE];
      of.gaps += roce_stream_counter(&stream, ROCE_GAPS);
      of.packets += roce_stream_packets(&stream);
    });
  }
  std::vector<bool> sampled(s.mirrors.size());
  for (size_t place = 0; place < seen.size(); place++)
    sampled[place] = std::any_of(
        seen[place].begin(), seen[place].end(),
        [&mirror = s.mirrors[place]](const Seen &of) { return looks_sampled(of, mirror); });
  return sampled;
}

std::vector<bool> sampled_streams(const Snapshot &s, const std::vector<bool> &sampled) {
  std::vector<bool> streams;
  if (std::find(sampled.begin(), sampled.end(), true) == sampled.end())
    return streams;
  const Sessions sessions(s);
  streams.resize(s.mirrored.size());
  for (size_t i = 0; i < s.mirrored.size(); i++)
    sessions.each(s.mirrored[i], [&](size_t place) { streams[i] = streams[i] || sampled[place]; });
  return streams;
}

} // namespace xr::report
