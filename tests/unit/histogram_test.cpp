// SPDX-License-Identifier: Apache-2.0
// Quantiles compared with those of sorted values.
#include "base/histogram.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace xr::histogram_test {
namespace {

constexpr double kWithin = 0.008;

uint64_t exact(const std::vector<uint64_t> &sorted, double fraction) {
  const double wanted = std::ceil(fraction * static_cast<double>(sorted.size()));
  return sorted[wanted < 1 ? 0 : static_cast<size_t>(wanted) - 1];
}

// Never below the exact one, and at most one bucket above.
void expect_quantiles(std::vector<uint64_t> values) {
  const auto histogram = std::make_unique<Histogram>();
  NarrowHistogram narrow;
  for (const uint64_t value : values) {
    histogram->add(value);
    narrow.add(value);
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const uint64_t wanted = exact(values, q), got = histogram->quantile(q);
    EXPECT_GE(got, wanted) << q;
    EXPECT_LE(static_cast<double>(got - wanted), kWithin * static_cast<double>(wanted)) << q;
    EXPECT_EQ(narrow.quantile(q), got) << q;
  }
  uint64_t counted = 0, before = 0;
  histogram->each([&](uint64_t from, uint64_t to, uint64_t count) {
    EXPECT_TRUE(!counted || from > before);
    EXPECT_EQ(std::ranges::count_if(values, [&](uint64_t v) { return v >= from && v <= to; }),
              static_cast<int64_t>(count));
    counted += count;
    before = to;
  });
  EXPECT_EQ(counted, values.size());
  EXPECT_EQ(narrow.count(), values.size());
  EXPECT_EQ(narrow.mean(), histogram->mean());
  EXPECT_EQ(narrow.min(), values.front());
  EXPECT_EQ(narrow.max(), values.back());
  EXPECT_EQ(histogram->min(), values.front());
  EXPECT_EQ(histogram->max(), values.back());
  EXPECT_EQ(histogram->count(), values.size());
}

// Four buckets an octave, as a port keeps the times of a QP pair: quantiles lie within the bucket,
// and are not its upper end or the largest value.
TEST(Histogram, QuantilesWithinWideBuckets) {
  using Buckets = LogBuckets<2, 36>;
  std::mt19937 random(1);
  for (const auto &[low, high] : {std::pair(1000u, 1100u), {900u, 2000u}, {5u, 90'000u}}) {
    std::vector<uint64_t> values;
    std::vector<uint64_t> counts(Buckets::kBuckets);
    for (int n = 0; n < 10'000; n++) {
      values.push_back(low + random() % (high - low));
      counts[Buckets::bucket(values.back())]++;
    }
    std::ranges::sort(values);
    for (const double q : {0.1, 0.5, 0.9, 0.99}) {
      const auto wanted = static_cast<double>(exact(values, q));
      const auto got = static_cast<double>(
          Buckets::quantile_between(counts, values.size(), values.front(), values.back(), q));
      EXPECT_NEAR(got, wanted, 0.03 * wanted) << low << " " << q;
    }
  }
  std::vector<uint64_t> one(Buckets::kBuckets);
  one[Buckets::bucket(1234)] = 1;
  EXPECT_EQ(Buckets::quantile_between(one, 1, 1234, 1234, 0.5), 1234u);
}

TEST(Histogram, QuantilesEqualThoseOfSortedValues) {
  std::mt19937_64 random(7);
  for (const unsigned bits : {3U, 7U, 8U, 9U, 14U, 32U, 63U, 64U}) {
    std::vector<uint64_t> values(5000);
    for (uint64_t &value : values)
      value = random() >> (64 - bits);
    expect_quantiles(values);
  }
  std::vector<uint64_t> skewed(5000);
  std::lognormal_distribution<double> lognormal(10, 3);
  for (uint64_t &value : skewed)
    value = static_cast<uint64_t>(lognormal(random));
  expect_quantiles(skewed);
}

TEST(Histogram, SmallValuesAreExact) {
  const auto histogram = std::make_unique<Histogram>();
  for (uint64_t i = 0; i < 256; i++)
    histogram->add(i);
  for (uint64_t i = 0; i < 256; i++)
    EXPECT_EQ(histogram->quantile(static_cast<double>(i + 1) / 256), i);
}

TEST(Histogram, LimitsOfBuckets) {
  for (unsigned bits = 0; bits < 64; bits++)
    for (const uint64_t value : {(1ULL << bits) - 1, 1ULL << bits, (1ULL << bits) + 1})
      expect_quantiles({value, UINT64_MAX});
}

TEST(Histogram, EmptyAndOneValue) {
  const auto histogram = std::make_unique<Histogram>();
  EXPECT_EQ(histogram->quantile(0.5), 0U);
  EXPECT_EQ(histogram->min(), 0U);
  EXPECT_EQ(histogram->mean(), 0);
  histogram->add(12345);
  for (const double q : {0.0, 0.5, 1.0})
    EXPECT_EQ(histogram->quantile(q), 12345U); // the largest, not its bucket's end
  EXPECT_EQ(histogram->mean(), 12345);
}

TEST(Histogram, MergeEqualsAddingToOne) {
  std::mt19937_64 random(8);
  const auto one = std::make_unique<Histogram>(), two = std::make_unique<Histogram>(),
             all = std::make_unique<Histogram>();
  for (int i = 0; i < 2000; i++) {
    const uint64_t value = random() >> (random() % 64), times = 1 + random() % 3;
    (i % 3 ? one : two)->add(value, times);
    all->add(value, times);
  }
  one->merge(*two);
  EXPECT_EQ(one->count(), all->count());
  EXPECT_EQ(one->min(), all->min());
  EXPECT_EQ(one->max(), all->max());
  EXPECT_NEAR(one->mean(), all->mean(), all->mean() * 1e-12);
  for (double q = 0; q <= 1; q += 0.01)
    EXPECT_EQ(one->quantile(q), all->quantile(q));
  one->merge(Histogram());
  EXPECT_EQ(one->count(), all->count());
  EXPECT_EQ(one->min(), all->min());
}

TEST(Histogram, MappedIsTheSameFlat) {
  std::mt19937_64 random(9);
  const auto flat = std::make_unique<MappedHistogram>();
  Histogram paged;
  for (int i = 0; i < 5000; i++) {
    const uint64_t value = random() >> (random() % 64), times = random() % 3;
    flat->add(value, times);
    paged.add(value, times);
  }
  const Histogram copied = *flat;
  for (double q = 0; q <= 1; q += 0.01) {
    EXPECT_EQ(paged.quantile(q), flat->quantile(q));
    EXPECT_EQ(copied.quantile(q), flat->quantile(q));
  }
  paged.subtract(*flat);
  EXPECT_EQ(paged.count(), 0U);
  paged.each([](uint64_t, uint64_t, uint64_t) { ADD_FAILURE() << "a bucket is left"; });
}

TEST(Histogram, SubtractLeavesWhatCameLater) {
  const auto all = std::make_unique<Histogram>(), before = std::make_unique<Histogram>();
  for (const uint64_t value : {5, 100, 7'000'000})
    before->add(value, 3);
  *all = *before;
  for (const uint64_t value : {100, 200, 3000})
    all->add(value, 2);
  all->subtract(*before);
  EXPECT_EQ(all->count(), 6U);
  EXPECT_DOUBLE_EQ(all->mean(), 1100);
  EXPECT_EQ(all->quantile(0.5), 200U);
  EXPECT_NEAR(static_cast<double>(all->min()), 100, 1);
  EXPECT_NEAR(static_cast<double>(all->max()), 3000, 30);
  all->subtract(*all);
  EXPECT_EQ(all->count(), 0U);
  EXPECT_EQ(all->min(), 0U);
  EXPECT_EQ(all->max(), 0U);
}

} // namespace
} // namespace xr::histogram_test
