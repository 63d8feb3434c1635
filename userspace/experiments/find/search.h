// SPDX-License-Identifier: Apache-2.0
// The search for a threshold: the hardest value of a range that holds, by trials that may err. It
// asks for trials and gets what came of them; it runs none. A value: copies of it are searches
// that go their own ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"

namespace xr::find {

// Values from one end to the other, a step apart: the index 0 is expected to hold, the last one not
// to.
class Grid {
public:
  struct Options {
    double low = 0, high = 1; // low < high
    bool least = false;       // the least value that holds is looked for: the high end is index 0
    bool logarithmic = false; // each value is a factor from the next; low > 0
    bool whole = false;       // whole numbers only
    double resolution =
        0; // the most that two neighbours are apart: a part of a value, of `high` if linear
    bool absolute = false; // `resolution` is in units of the value
  };
  // Error: the ends or the resolution make no grid, or it has more than 100 million values.
  static Result<Grid> make(const Options &options);

  size_t last() const { return last_; }
  double value(size_t index) const;
  // The index of the hardest value that is not harder than this one; within the ends.
  size_t at_most(double value) const;

private:
  Options options_;
  size_t last_ = 1;
  std::vector<double> values_; // ascending; empty: linear
};

enum class Outcome : uint8_t { Holds, Fails, Void };

struct SearchOptions {
  unsigned trials = 1, hold = 1; // a point holds if `hold` of `trials` do
  bool again = false; // trials may err: both ends of what is left are tried once more, and a third
                      // time if that differs
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
  static constexpr unsigned kMostVoids = 3; // of a point that is not decided: it cannot be measured
  static constexpr size_t kMostTrials = 400;

  Search(Grid grid, SearchOptions options) : grid_(std::move(grid)), options_(options) {}

  const Grid &grid() const { return grid_; }
  // The next trial; none: the answer is there. It depends on what tell() got, and not on the order.
  std::optional<Trial> next() const;
  // Also of a trial that it did not ask for. `guess`: where it shows that the threshold may be.
  void tell(Trial trial, Outcome outcome, std::optional<double> guess = {});
  Answer answer() const;
  size_t trials() const { return told_; }

private:
  // One point: rounds of `trials` trials that are decided, and the one that is not.
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
  unsigned lead() const { return options_.again ? 2 : 1; }
  static std::optional<size_t> first_failing(const Points &points);
  Bracket bracket() const;
  std::optional<size_t> guessed(const Bracket &bracket) const;
  std::optional<Trial> confirm(size_t holds, size_t fails) const;
  // What was confirmed below `fails`.
  std::optional<size_t> confirmed(size_t fails) const;

  Grid grid_;
  SearchOptions options_;
  Points short_, long_;
  size_t told_ = 0;
};

} // namespace xr::find
