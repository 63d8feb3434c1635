// SPDX-License-Identifier: Apache-2.0
#include "model/episode_times.h"

#include "model/episodes.h"

namespace xr {

namespace {

// Unknown if one did not happen, or came first.
std::optional<uint64_t> between(uint64_t from, uint64_t to) {
  return from && to >= from ? std::optional(to - from) : std::nullopt;
}

} // namespace

EpisodeTimes episode_times(const roce_episode &e, bool by_timer) {
  EpisodeTimes times;
  if (e.cause == ROCE_CAUSE_NAK)
    times.nak_generation = between(e.seen_ns, e.nak_ns);
  if (!by_timer)
    times.nak_reaction = e.cause == ROCE_CAUSE_READ ? between(e.seen_ns, e.reread_ns)
                                                    : between(e.nak_ns, e.resent_ns);
  if (e.cause == ROCE_CAUSE_TIMEOUT || by_timer)
    times.timeout = between(e.last_sent_ns, e.reread_ns ? e.reread_ns : e.resent_ns);
  if (const uint64_t start = episode_start(e); e.recovered_ns > start)
    times.recovery = e.recovered_ns - start;
  return times;
}

} // namespace xr
