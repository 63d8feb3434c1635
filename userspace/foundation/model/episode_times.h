// SPDX-License-Identifier: Apache-2.0
// How long the steps of an episode took.
#pragma once

#include <cstdint>
#include <optional>

#include "roce/followed.h"

namespace xr {

// In ns; none: a step did not happen, or is not one of this cause.
struct EpisodeTimes {
  std::optional<uint64_t> nak_generation; // the first packet after the missing one, to the NAK
  std::optional<uint64_t> nak_reaction;   // the NAK (READ: the response after it), to sent again
  std::optional<uint64_t> timeout;        // last sent to sent again
  std::optional<uint64_t> recovery;       // from its beginning until nothing was missing
};
// `by_timer`: of its row, so that the NAK had no reaction.
EpisodeTimes episode_times(const roce_episode &episode, bool by_timer = false);

} // namespace xr
