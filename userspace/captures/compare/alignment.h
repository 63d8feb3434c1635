// SPDX-License-Identifier: Apache-2.0
// How the clocks of two places differ, and which way packets travel between them, from the samples
// of their surveys. A difference is the time at the second place minus that at the first.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "compare/survey.h"

namespace xr::compare {

struct Path {                      // from one address to another
  bool backward = false;           // from the second place to the first
  bool assumed = true;             // nothing shows the direction
  int64_t usual_ns = 0;            // median difference
  int64_t low_ns = 0, high_ns = 0; // 1 % of the differences are below and above
  int64_t margin_ns = 0;           // 99 % of the differences are within this of the median
  std::optional<int64_t> clock_ns; // difference of the clocks, if it is known

  // How far an arrival may be below the usual difference `usual`; one that is further below did not
  // belong to its transmission, if there is a choice.
  int64_t earliest_ns(int64_t usual) const { return backward ? usual - high_ns : low_ns - usual; }
  int64_t impossible_ns(int64_t usual) const;
};

class Alignment {
public:
  // `clock_offset_ns`: clock of the second place minus that of the first, if it is known.
  Alignment(const Survey &first, const Survey &second, std::optional<int64_t> clock_offset_ns);

  // Packets from one address to another. Without samples of them: the direction opposite to that of
  // the answers, else forward; and the differences of all packets in this direction.
  Path path(const Ends &ends) const;

  // Directions that other legs of the same row of places know, for those that are assumed here.
  using Directions = std::unordered_map<Ends, bool, EndsHash>; // true: backward
  void tell(Directions &known) const;
  void suppose(const Directions &known);

  ComparedLeg::Clock clock() const { return clock_; }
  int64_t offset_ns() const { return offset_ns_; }
  uint64_t anchors() const { return anchors_; }
  int64_t shift_ns() const { return all_.usual_ns; } // median of all differences
  // About the smallest latency of a direction, as a difference.
  int64_t base_ns(bool backward) const { return base_ns_[backward]; }

private:
  struct Samples {
    std::vector<int64_t> ns;
    int64_t ttl_falls = 0;  // packets whose TTL is lower at the second place, minus the contrary
    int64_t median() const; // they are sorted
  };
  using BySide = std::unordered_map<Ends, Samples, EndsHash>;

  static BySide join(const Survey &first, const Survey &second);
  void direct(const BySide &samples, std::optional<int64_t> clock_offset_ns);
  void estimate_clock(const BySide &samples, std::optional<int64_t> given);
  void set_directions_by_clock(const BySide &samples);
  Path untimed_path(const Ends &ends) const; // without the difference of the clocks
  void find_bases(const BySide &samples);

  BySide samples_;
  std::optional<int64_t> given_; // clock offset
  std::unordered_map<Ends, Path, EndsHash> paths_;
  Path all_;
  Path way_[2]; // of all packets in a direction
  bool has_way_[2] = {false, false};
  ComparedLeg::Clock clock_ = ComparedLeg::Clock::Unknown;
  int64_t offset_ns_ = 0;
  uint64_t anchors_ = 0;
  int64_t base_ns_[2] = {0, 0};
};

} // namespace xr::compare
