// SPDX-License-Identifier: Apache-2.0
#include "find/search.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace xr::find {

namespace {

constexpr double kMostValues = 1e8, kMostListed = 4e6;
constexpr double kRounding = 1e-9; // of a value

// With as few digits as the resolution allows.
double rounded(double value, double step) {
  const double unit = std::pow(10, std::floor(std::log10(step / 20)));
  return unit > 0 && std::isfinite(unit) ? std::round(value / unit) * unit : value;
}

} // namespace

Result<Grid> Grid::make(const Options &options) {
  Grid grid;
  grid.options_ = options;
  const double low = options.low, high = options.high;
  if (!(low < high))
    return Error{"the range has one value or none", "the smaller value first: LOW..HIGH"};
  if (!(options.resolution > 0))
    return Error{"the resolution is 0", "like 1%"};
  if (options.logarithmic && !options.absolute) {
    if (low <= 0)
      return Error{"a logarithmic scale begins above 0", "scale: linear"};
    const double steps =
        std::ceil(std::log(high / low) / std::log1p(options.resolution) - kRounding);
    if (steps > kMostListed)
      return Error{"the resolution is too fine", fmt::format("at most {:.0f} values", kMostListed)};
    const auto count = static_cast<size_t>(steps);
    grid.values_.reserve(count + 1);
    for (size_t i = 0; i <= count; i++) {
      double value = i == count ? high : low * std::pow(high / low, static_cast<double>(i) / steps);
      if (i > 0 && i < count)
        value = rounded(value, value * options.resolution);
      if (options.whole)
        value = std::round(value);
      if (grid.values_.empty() || value > grid.values_.back())
        grid.values_.push_back(value);
    }
    grid.last_ = grid.values_.size() - 1;
    return grid;
  }
  double step = options.absolute ? options.resolution : options.resolution * high;
  if (options.whole)
    step = std::max(1.0, std::floor(step + kRounding));
  const double steps = std::ceil((high - low) / step - kRounding);
  if (steps > kMostValues)
    return Error{"the resolution is too fine", fmt::format("at most {:.0f} values", kMostValues)};
  grid.last_ = static_cast<size_t>(steps);
  return grid;
}

double Grid::value(size_t index) const {
  const size_t at = options_.least ? last_ - index : index;
  if (!values_.empty())
    return values_[at];
  if (at == 0 || at == last_)
    return at ? options_.high : options_.low;
  const double step = (options_.high - options_.low) / static_cast<double>(last_);
  const double value = rounded(options_.low + step * static_cast<double>(at), step);
  return options_.whole ? std::round(value) : value;
}

size_t Grid::at_most(double value) const {
  const auto harder = [&](size_t index) {
    const double other = this->value(index);
    return options_.least ? other < value * (1 - kRounding) : other > value * (1 + kRounding);
  };
  size_t from = 0, to = last_;
  while (from < to) {
    const size_t middle = (from + to + 1) / 2;
    if (harder(middle))
      to = middle - 1;
    else
      from = middle;
  }
  return from;
}

void Search::tell(Trial trial, Outcome outcome, std::optional<double> guess) {
  Point &point = (trial.longer ? long_ : short_)[trial.index];
  told_++;
  if (guess)
    point.guess = guess;
  if (outcome == Outcome::Void) {
    point.voids++;
    return;
  }
  (outcome == Outcome::Holds ? point.holds : point.fails)++;
  const bool held = point.holds >= options_.hold,
             failed = point.fails > options_.trials - options_.hold;
  if (!held && !failed)
    return;
  (held ? point.held : point.failed)++;
  point.holds = point.fails = 0;
}

Search::State Search::state_of(const Points &points, size_t index, unsigned lead) {
  const auto found = points.find(index);
  if (found == points.end())
    return State::Open;
  const Point &point = found->second;
  const bool enough = point.voids >= kMostVoids;
  if (point.held == point.failed)
    return enough ? State::Void : State::Open;
  const bool held = point.held > point.failed;
  const unsigned by = held ? point.held - point.failed : point.failed - point.held;
  return by < lead && !enough ? State::Open : held ? State::Holds : State::Fails;
}

std::optional<size_t> Search::first_failing(const Points &points) {
  for (const auto &[index, point] : points)
    if (const State is = state_of(points, index); is == State::Fails || is == State::Void)
      return index;
  return {};
}

// Needs both ends decided: the first holds, the last does not.
Search::Bracket Search::bracket() const {
  Bracket made{0, first_failing(short_).value_or(grid_.last())};
  for (auto at = short_.begin(); at != short_.end() && at->first < made.fails; ++at)
    if (state(at->first) == State::Holds)
      made.holds = at->first;
  return made;
}

// The guess of the first failing value; if it is outside the bracket, a value inside, by steps that
// double.
std::optional<size_t> Search::guessed(const Bracket &bracket) const {
  constexpr long kMostGuesses = 4; // failing values; after that, halving is as fast
  const auto &guess = short_.at(bracket.fails).guess;
  const auto failing = std::ranges::count_if(
      short_, [this](const auto &entry) { return state(entry.first) == State::Fails; });
  if (!guess || failing > kMostGuesses)
    return {};
  size_t at = grid_.at_most(*guess);
  if (bracket.holds >= at)
    at = bracket.holds + std::max<size_t>(1, 2 * (bracket.holds - at));
  else if (at >= bracket.fails)
    at = bracket.fails - std::min(bracket.fails, size_t{1} << (failing - 1));
  return at > bracket.holds && at < bracket.fails ? std::optional(at) : std::nullopt;
}

std::optional<size_t> Search::confirmed(size_t fails) const {
  std::optional<size_t> found;
  for (auto at = long_.begin(); at != long_.end() && at->first < fails; ++at)
    if (state_of(long_, at->first) == State::Holds)
      found = at->first;
  return found;
}

std::optional<Trial> Search::confirm(size_t holds, size_t fails) const {
  if (!options_.confirm)
    return {};
  const size_t end = std::min(fails, first_failing(long_).value_or(fails));
  for (auto at = long_.begin(); at != long_.end() && at->first < end; ++at)
    if (state_of(long_, at->first) == State::Open)
      return Trial{at->first, true};
  if (const auto good = confirmed(end)) {
    if (end - *good > 1 && *good < holds)
      return Trial{(*good + end) / 2, true};
    return {};
  }
  if (end == 0)
    return {};
  // Down from the first failure, by steps that double.
  const auto failed = static_cast<unsigned>(long_.size());
  if (!failed)
    return Trial{holds, true};
  const size_t step = size_t{1} << std::min(failed - 1, 30U);
  return Trial{end > step ? end - step : 0, true};
}

std::optional<Trial> Search::next() const {
  const size_t last = grid_.last();
  if (told_ >= kMostTrials)
    return {};
  for (const size_t end : {last, size_t{0}})
    if (state(end) == State::Open)
      return Trial{end, false};
  // A confirmation replaces the second trial of the value that holds.
  const bool twice = options_.again && !options_.confirm;
  if (state(last) == State::Holds)
    return twice && state(last, lead()) == State::Open ? Trial{last, false}
                                                       : confirm(last, last + 1);
  if (state(0) != State::Holds)
    return state(0, lead()) == State::Open ? std::optional(Trial{0, false}) : std::nullopt;
  const Bracket left = bracket();
  for (auto at = short_.upper_bound(left.holds); at != short_.end() && at->first < left.fails; ++at)
    if (state(at->first) == State::Open)
      return Trial{at->first, false};
  if (left.fails - left.holds > 1)
    return Trial{guessed(left).value_or((left.holds + left.fails) / 2), false};
  if (state(left.fails, lead()) == State::Open)
    return Trial{left.fails, false};
  if (twice && state(left.holds, lead()) == State::Open)
    return Trial{left.holds, false};
  return confirm(left.holds, left.fails);
}

Answer Search::answer() const {
  Answer made;
  made.gave_up = told_ >= kMostTrials;
  const size_t last = grid_.last();
  const auto failing = first_failing(short_);
  if (failing)
    for (const auto &[index, point] : short_)
      if (index > *failing && state(index) == State::Holds)
        made.twist = {*failing, index};
  const bool all = state(last) == State::Holds;
  size_t end = all ? last + 1 : failing.value_or(last);
  if (options_.confirm) {
    end = std::min(end, first_failing(long_).value_or(end));
    made.holds = confirmed(end);
  } else if (all) {
    made.holds = last;
  } else if (state(0) == State::Holds) {
    made.holds = bracket().holds;
  }
  const auto is = [&](State wanted) {
    return state(end) == wanted || state_of(long_, end) == wanted;
  };
  made.limited = is(State::Void) && !is(State::Fails);
  if (made.limited || is(State::Fails))
    made.fails = end;
  if (made.holds)
    made.kind = *made.holds == last ? Answer::Kind::AllHold : Answer::Kind::Found;
  else if (made.fails == size_t{0} && !made.limited)
    made.kind = Answer::Kind::NoneHolds;
  return made;
}

} // namespace xr::find
