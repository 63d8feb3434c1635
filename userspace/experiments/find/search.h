// SPDX-License-Identifier: Apache-2.0
// The search for a threshold, the hardest value of a range that holds, by trials that may err. It
// asks for trials and gets their outcomes; it runs none. Copies of a search are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"

namespace xr::find {

// Values from one end to the other, a step apart, the hardest one last.
class Grid {
public:
  struct Options {
    double low = 0, high = 1; // low < high
    bool least = false;       // low values are hard: the high end is index 0
    bool logarithmic = false; // neighbours have a constant ratio; low > 0
    bool whole = false;       // whole numbers only
    double resolution = 0;    // largest step: a part of the value, or of `high` if linear
    bool absolute = false;    // `resolution` is in units of the value
  };
  // Error: the range or the resolution is empty, or there are too many values.
  static Result<Grid> make(const Options &options);

  size_t last() const { return last_; }
  double value(size_t index) const;
  // The index of the hardest value that is not harder than this one; at least 0.
  size_t at_most(double value) const;

private:
  Options options_;
  size_t last_ = 1;
  std::vector<double> values_; // ascending; empty: linear
};

enum class Outcome : uint8_t { Holds, Fails, Void };

struct SearchOptions {
  unsigned trials = 1, hold = 1; // a value holds if `hold` of `trials` do
  bool again = false;   // trials may err: both neighbours are tried until one outcome leads by two
  bool confirm = false; // the value that is found has to hold in a longer trial too
};

struct Trial {
  size_t index = 0;
  bool longer = false;
  bool operator==(const Trial &) const = default;
};

struct Answer {
  enum class Kind : uint8_t { Found, AllHold, NoneHolds, NotMeasured };
  Kind kind = Kind::NotMeasured;
  std::optional<size_t> holds, fails; // neighbours, if both are there
  bool limited = false; // nothing harder than `holds` could be measured: `fails` is void
  bool gave_up = false; // after kMostTrials
  // A value that holds beyond one that fails.
  struct Twist {
    size_t fails, holds;
  };
  std::optional<Twist> twist;
};

class Search {
public:
  static constexpr unsigned kMostVoids = 3; // then an undecided value cannot be measured
  static constexpr size_t kMostTrials = 400;

  Search(Grid grid, SearchOptions options) : grid_(std::move(grid)), options_(options) {}

  const Grid &grid() const { return grid_; }
  // The next trial; none: the search is over. Outcomes of different values may come in any order.
  std::optional<Trial> next() const;
  // Also for trials that next() did not ask for. `guess`: of the threshold, by this trial.
  void tell(Trial trial, Outcome outcome, std::optional<double> guess = {});
  Answer answer() const;
  size_t trials() const { return told_; }

private:
  // One value: the decided rounds of `trials` trials, and the current one.
  struct Point {
    unsigned held = 0, failed = 0; // rounds
    unsigned holds = 0, fails = 0, voids = 0;
    std::optional<double> guess = {};
  };
  enum class State : uint8_t { Open, Holds, Fails, Void };
  using Points = std::map<size_t, Point>;
  struct Bracket {
    size_t holds = 0, fails = 0;
  };

  static State state_of(const Points &points, size_t index, unsigned lead = 1);
  State state(size_t index, unsigned lead = 1) const { return state_of(short_, index, lead); }
  unsigned lead() const { return options_.again ? 2 : 1; } // of rounds, to be sure
  static std::optional<size_t> first_failing(const Points &points);
  Bracket bracket() const;
  std::optional<size_t> guessed(const Bracket &bracket) const;
  std::optional<Trial> confirm(size_t holds, size_t fails) const;
  // The hardest value below `fails` that a longer trial has confirmed.
  std::optional<size_t> confirmed(size_t fails) const;

  Grid grid_;
  SearchOptions options_;
  Points short_, long_;
  size_t told_ = 0;
};

} // namespace xr::find
