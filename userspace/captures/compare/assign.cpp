// SPDX-License-Identifier: Apache-2.0
#include "compare/assign.h"

#include <algorithm>
#include <cmath>

namespace xr::compare {

namespace {

struct Class {
  std::array<int16_t, kMostTogether> member{};
  size_t count = 0;
  void add(size_t index) { member[count++] = static_cast<int16_t>(index); }
};

bool has(const Candidates &candidates, uint32_t print) {
  return std::any_of(candidates.at.begin(), candidates.at.begin() + candidates.count,
                     [print](const Candidate &c) { return c.print == print; });
}

constexpr int64_t kTooEarly = 8;
constexpr double kAnyDifference = 1e13; // ns; the window is 60 s at most

struct Aligned {
  std::array<int16_t, kMostTogether> partner{}; // of a member of the first class, in the second
  size_t matches = 0;
  double difference = 0;
};

// The cheapest alignment that keeps the order, as for the distance of two texts; `none` is the cost
// of an unmatched sight.
Aligned align(const Candidates &first, const Class &a, const Candidates &second, const Class &b,
              double none) {
  enum Step : uint8_t { Match, SkipFirst, SkipSecond };
  std::array<std::array<double, kMostTogether + 1>, kMostTogether + 1> cost{};
  std::array<std::array<Step, kMostTogether + 1>, kMostTogether + 1> step{};
  const auto difference = [&](size_t i, size_t j) -> double {
    const Candidate &arrival = second.at[static_cast<size_t>(b.member[j])];
    const int64_t d = arrival.time_ns - first.at[static_cast<size_t>(a.member[i])].time_ns,
                  early = std::max<int64_t>(arrival.earliest_ns - d, 0);
    if (d < arrival.impossible_ns)
      return INFINITY;
    return static_cast<double>(std::abs(d) + kTooEarly * early);
  };
  for (size_t i = 0; i <= a.count; i++)
    for (size_t j = 0; j <= b.count; j++) {
      if (!i && !j)
        continue;
      cost[i][j] = INFINITY;
      const auto offer = [&](double price, Step how) {
        if (price < cost[i][j]) {
          cost[i][j] = price;
          step[i][j] = how;
        }
      };
      if (i && j)
        offer(cost[i - 1][j - 1] + difference(i - 1, j - 1), Match);
      if (i)
        offer(cost[i - 1][j] + none, SkipFirst);
      if (j)
        offer(cost[i][j - 1] + none, SkipSecond);
    }
  Aligned aligned;
  aligned.partner.fill(Assignment::kNone);
  for (size_t i = a.count, j = b.count; i && j;) {
    const Step how = step[i][j];
    if (how == Match) {
      aligned.partner[i - 1] = static_cast<int16_t>(j - 1);
      aligned.matches++;
      aligned.difference += difference(i - 1, j - 1);
    }
    i -= how != SkipSecond;
    j -= how != SkipFirst;
  }
  return aligned;
}

// If one transmission has several arrivals left, the first is its own and the others are copies.
void prefer_first_arrivals(const Candidates &first, const Class &a, const Candidates &second,
                           const Class &b, Aligned &aligned) {
  int16_t after = -1; // of the transmission before
  for (size_t i = 0; i < a.count; i++) {
    int16_t &partner = aligned.partner[i];
    if (partner == Assignment::kNone)
      continue;
    const int64_t sent = first.at[static_cast<size_t>(a.member[i])].time_ns;
    for (int16_t j = static_cast<int16_t>(after + 1); j < partner; j++) {
      const Candidate &arrival = second.at[static_cast<size_t>(b.member[static_cast<size_t>(j)])];
      if (arrival.time_ns - sent >= arrival.earliest_ns)
        partner = j;
    }
    after = partner;
  }
}

// The least and the mean distance of two successive transmissions.
double least_distance(const Candidates &first, const Class &a) {
  double least = INFINITY;
  for (size_t i = 1; i < a.count; i++)
    least = std::min(least,
                     static_cast<double>(first.at[static_cast<size_t>(a.member[i])].time_ns -
                                         first.at[static_cast<size_t>(a.member[i - 1])].time_ns));
  return least;
}
double mean_distance(const Candidates &of) {
  return static_cast<double>(of.at[of.count - 1].time_ns - of.at[0].time_ns) /
         static_cast<double>(of.count - 1);
}

Aligned decide(const Candidates &first, const Class &a, const Candidates &second, const Class &b,
               int64_t variation_ns) {
  const Candidates &longest = first.count >= second.count ? first : second;
  if (!(first.complete && second.complete) && longest.count > 1)
    return align(first, a, second, b, std::max(1.0, mean_distance(longest) / 8));
  const Aligned most = align(first, a, second, b, kAnyDifference);
  const double distance = least_distance(first, a);
  if (a.count < 2 || b.count < 2 || distance <= static_cast<double>(variation_ns))
    return most;
  // A loss and a copy: two unmatched sights for one shift. What remains must fit much better.
  constexpr double kUnmatched = 0.45, kMuchBetter = 8;
  const Aligned fewer = align(first, a, second, b, kUnmatched * distance);
  return fewer.matches && fewer.difference * kMuchBetter <= most.difference ? fewer : most;
}

void assign_class(const Candidates &first, const Class &a, const Candidates &second, const Class &b,
                  int64_t variation_ns, Assignment &result) {
  if (!a.count || !b.count)
    return;
  Aligned aligned = decide(first, a, second, b, variation_ns);
  prefer_first_arrivals(first, a, second, b, aligned);
  for (size_t i = 0; i < a.count; i++) {
    if (aligned.partner[i] == Assignment::kNone)
      continue;
    const int16_t j = b.member[static_cast<size_t>(aligned.partner[i])];
    result.of_first[static_cast<size_t>(a.member[i])] = j;
    result.of_second[static_cast<size_t>(j)] = a.member[i];
  }
}

Class unmatched(const Class &of, const std::array<int16_t, kMostTogether> &partners) {
  Class left;
  for (size_t i = 0; i < of.count; i++)
    if (partners[static_cast<size_t>(of.member[i])] == Assignment::kNone)
      left.add(static_cast<size_t>(of.member[i]));
  return left;
}

// Where several transmissions have the same bytes and not all of them arrived, one that is left may
// be what arrived corrupted.
void assign_corrupted(const Candidates &first, const Class &strange_first, const Candidates &second,
                      const Class &strange_second, int64_t variation_ns, Assignment &result) {
  Class left, corrupted;
  for (size_t i = 0; i < first.count; i++)
    if (result.of_first[i] == Assignment::kNone)
      left.add(i);
  for (size_t i = 0; i < strange_second.count; i++) {
    const auto index = static_cast<size_t>(strange_second.member[i]);
    if (second.at[index].bad || !second.at[index].print)
      corrupted.add(index);
  }
  if (left.count > strange_first.count)
    assign_class(first, left, second, corrupted, variation_ns, result);
}

} // namespace

Assignment assign(const Candidates &first, const Candidates &second, int64_t variation_ns) {
  Assignment result;
  result.of_first.fill(Assignment::kNone);
  result.of_second.fill(Assignment::kNone);
  Class strange_first, strange_second;
  std::array<bool, kMostTogether> assigned{};
  for (size_t i = 0; i < first.count; i++) {
    const uint32_t print = first.at[i].print;
    if (assigned[i])
      continue;
    if (!print || !has(second, print)) {
      strange_first.add(i);
      continue;
    }
    Class a, b;
    for (size_t k = i; k < first.count; k++)
      if (first.at[k].print == print) {
        a.add(k);
        assigned[k] = true;
      }
    for (size_t k = 0; k < second.count; k++)
      if (second.at[k].print == print)
        b.add(k);
    assign_class(first, a, second, b, variation_ns, result);
  }
  for (size_t k = 0; k < second.count; k++)
    if (!second.at[k].copy && (!second.at[k].print || !has(first, second.at[k].print)))
      strange_second.add(k);
  assign_corrupted(first, strange_first, second, strange_second, variation_ns, result);
  assign_class(first, unmatched(strange_first, result.of_first), second,
               unmatched(strange_second, result.of_second), variation_ns, result);
  return result;
}

} // namespace xr::compare
