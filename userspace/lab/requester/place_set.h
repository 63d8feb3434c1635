// SPDX-License-Identifier: Apache-2.0
// A set of places (PSNs that do not wrap) as runs without a gap, for what arrived out of order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace xr::requester {

struct PlaceRun {
  uint64_t first = 0, end = 0; // end: the place after the last one
};

class PlaceSet {
public:
  // A place that would make one run more than this finds no room.
  static constexpr size_t kMostRuns = 1024;

  enum class Added : uint8_t { New, Known, NoRoom };
  Added add(uint64_t place) {
    const auto next = after(place); // the first run that ends after it
    if (next != runs_.end() && next->first <= place)
      return Added::Known;
    const bool joins_next = next != runs_.end() && next->first == place + 1;
    const bool joins_last = next != runs_.begin() && (next - 1)->end == place;
    if (joins_next && joins_last) {
      (next - 1)->end = next->end;
      runs_.erase(next);
    } else if (joins_next) {
      next->first = place;
    } else if (joins_last) {
      (next - 1)->end = place + 1;
    } else if (runs_.size() == kMostRuns) {
      return Added::NoRoom;
    } else {
      runs_.insert(next, {place, place + 1});
    }
    return Added::New;
  }

  // Removes all places before `place`, and the run that it is in. The first place that is missing.
  uint64_t take_until(uint64_t place) {
    const auto next = after(place);
    const bool in = next != runs_.end() && next->first <= place;
    const uint64_t missing = in ? next->end : place;
    runs_.erase(runs_.begin(), in ? next + 1 : next);
    return missing;
  }

  // The first run of places in [first, end) that are not in the set; empty: there is none.
  PlaceRun missing(uint64_t first, uint64_t end) const {
    auto next = after(first);
    while (next != runs_.end() && next->first <= first) {
      first = next->end;
      ++next;
    }
    const uint64_t stop = next == runs_.end() ? end : std::min(end, next->first);
    return {first, std::max(first, stop)};
  }

  bool empty() const { return runs_.empty(); }
  void clear() { runs_.clear(); }

private:
  using Runs = std::vector<PlaceRun>;
  static bool ends_before(uint64_t place, const PlaceRun &run) { return place < run.end; }
  Runs::iterator after(uint64_t place) {
    return std::upper_bound(runs_.begin(), runs_.end(), place, ends_before);
  }
  Runs::const_iterator after(uint64_t place) const {
    return std::upper_bound(runs_.begin(), runs_.end(), place, ends_before);
  }

  Runs runs_; // ascending, with gaps between them
};

} // namespace xr::requester
