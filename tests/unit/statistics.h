// SPDX-License-Identifier: Apache-2.0
// The deviation of an experiment from its expectation, in standard deviations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace xr::test {

constexpr double kSigmas = 3;

inline double z_of_count(double count, double n, double p) {
  return (count - n * p) / std::sqrt(n * p * (1 - p));
}

// Wilson and Hilferty's: a chi-square of `freedom` degrees as a normal deviate. Only large is bad.
inline double z_of_chi_square(double chi_square, double freedom) {
  const double v = 2 / (9 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - v)) / std::sqrt(v);
}

// Counts against the share that each was to have.
inline double z_of_bins(const std::vector<uint64_t> &counts, const std::vector<double> &shares) {
  double total = 0, chi_square = 0;
  for (const uint64_t count : counts)
    total += static_cast<double>(count);
  for (size_t i = 0; i < counts.size(); i++) {
    const double expected = total * shares[i], off = static_cast<double>(counts[i]) - expected;
    chi_square += off * off / expected;
  }
  return std::max(0.0, z_of_chi_square(chi_square, static_cast<double>(counts.size() - 1)));
}

inline double z_of_equal_bins(const std::vector<uint64_t> &counts) {
  return z_of_bins(counts,
                   std::vector<double>(counts.size(), 1 / static_cast<double>(counts.size())));
}

// One experiment in 370 is off by more than three deviations, with nothing wrong: two more with
// other seeds decide. What is wrong fails all three.
inline void expect_usual(const std::string &what, const std::function<double(uint64_t seed)> &z) {
  std::string seen;
  for (int i = 0; i < 3; i++) {
    const uint64_t seed = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
    const double off = z(seed);
    if (std::abs(off) <= kSigmas)
      return;
    seen += fmt::format("\n  seed {}: {:.2f} standard deviations", seed, off);
  }
  ADD_FAILURE() << what << seen;
}

} // namespace xr::test
