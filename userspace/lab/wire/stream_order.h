// SPDX-License-Identifier: Apache-2.0
// The last time that each stream was given, so that its next frame does not get an earlier one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/draw.h"

namespace xr::wire {

// A hash table with linear probing. A stream is forgotten when its last time is kSkew before the
// present: no frame will get an earlier time.
class StreamOrder {
public:
  // The time that the stream's next frame gets: `own`, or its last one if that is later. `now`:
  // when the frame enters; at most kSkew before that of other frames.
  uint64_t next(uint64_t stream, uint64_t own, uint64_t now) {
    if (used_ * 2 >= slots_.size())
      rehash(now);
    Slot &slot = slots_[find(stream)];
    used_ += !slot.used;
    slot = {stream, slot.used ? std::max(own, slot.last) : own, true};
    return slot.last;
  }

private:
  static constexpr uint64_t kSkew = 100'000'000; // ns: of frames from several queues
  static constexpr size_t kLeast = 64;

  struct Slot {
    uint64_t stream = 0, last = 0;
    bool used = false;
  };

  size_t find(uint64_t stream) const {
    size_t at = mix(stream) & (slots_.size() - 1);
    while (slots_[at].used && slots_[at].stream != stream)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  // Leaves out the streams that are over. Grows only if a quarter or more remain.
  void rehash(uint64_t now) {
    const auto live = [now](const Slot &slot) { return slot.used && slot.last + kSkew > now; };
    const auto remain = static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), live));
    spare_.assign(remain * 4 >= slots_.size() ? std::max(kLeast, 2 * slots_.size()) : slots_.size(),
                  Slot{});
    std::swap(slots_, spare_);
    for (const Slot &slot : spare_)
      if (live(slot))
        slots_[find(slot.stream)] = slot;
    used_ = remain;
  }

  std::vector<Slot> slots_, spare_; // the size is 0 or a power of two
  size_t used_ = 0;
};

} // namespace xr::wire
