// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace xr {

// Buckets whose width grows with the value, like those of HdrHistogram (which Debian packages for
// Java and Go only). Exact below 2^kBits; above, the error is at most 2^-kBits. Values longer than
// kWidth bits are in the last bucket.
template <unsigned kBits, unsigned kWidth> struct LogBuckets {
  static constexpr unsigned kBuckets = (kWidth - kBits + 1) << kBits; // 2^kBits per octave

  static unsigned bucket(uint64_t value) {
    if (value < (1U << kBits))
      return static_cast<unsigned>(value);
    if constexpr (kWidth < 64)
      if (value >> kWidth)
        return kBuckets - 1;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kBits - 1;
    return ((shift + 1) << kBits) + static_cast<unsigned>((value >> shift) - (1U << kBits));
  }
  static uint64_t highest(unsigned index) {
    if (index < (2U << kBits))
      return index;
    const unsigned shift = ((index >> kBits) - 1) & 63;
    const uint64_t low = (static_cast<uint64_t>(index & ((1U << kBits) - 1)) + (1U << kBits))
                         << shift;
    return low + ((1ULL << shift) - 1);
  }
  static uint64_t lowest(unsigned index) { return index ? highest(index - 1) + 1 : 0; }

  // The value that `fraction` (0 to 1) of all `total` values do not exceed: the upper bound of its
  // bucket, at most `max`. `counts` are of the buckets from `first` on.
  template <typename Counts>
  static uint64_t quantile(const Counts &counts, unsigned first, uint64_t total, uint64_t max,
                           double fraction) {
    const double threshold = fraction * static_cast<double>(total);
    uint64_t seen = 0;
    for (unsigned i = 0; i < counts.size(); i++) {
      seen += counts[i];
      if (seen && static_cast<double>(seen) >= threshold)
        return std::min(highest(first + i), max);
    }
    return max;
  }

  // The quantile, interpolated: the values of its bucket are taken to be spread evenly. For
  // wide buckets. No value is below `min`. `counts` are of all buckets.
  static uint64_t quantile_between(std::span<const uint64_t> counts, uint64_t total, uint64_t min,
                                   uint64_t max, double fraction) {
    const double threshold = fraction * static_cast<double>(total);
    uint64_t below = 0;
    for (unsigned i = 0; i < counts.size(); i++) {
      const uint64_t here = counts[i];
      if (here && static_cast<double>(below + here) >= threshold) {
        const uint64_t low = std::max(lowest(i), min),
                       high = std::max(low, std::min(highest(i), max));
        const double share = (threshold - static_cast<double>(below)) / static_cast<double>(here);
        return low + static_cast<uint64_t>(static_cast<double>(high - low) * share);
      }
      below += here;
    }
    return max;
  }
};

// The counts of all buckets, side by side: may be mapped into memory.
template <unsigned kBuckets> class FlatCounts {
public:
  static constexpr size_t size() { return kBuckets; }
  uint64_t &at(unsigned i) { return counts_[i]; }
  uint64_t operator[](unsigned i) const { return counts_[i]; }

private:
  std::array<uint64_t, kBuckets> counts_{};
};

// With memory for those pages only in which there is one: there are thousands of queues and
// senders.
template <unsigned kBuckets> class PagedCounts {
public:
  static constexpr size_t size() { return kBuckets; }
  uint64_t &at(unsigned i) {
    uint8_t &place = places_[i / kPage];
    if (!place) [[unlikely]] {
      counts_.resize(counts_.size() + kPage);
      place = static_cast<uint8_t>(counts_.size() / kPage);
    }
    return counts_[(place - 1) * kPage + i % kPage];
  }
  uint64_t operator[](unsigned i) const {
    const unsigned place = places_[i / kPage];
    return place ? counts_[(place - 1) * kPage + i % kPage] : 0;
  }

private:
  static constexpr unsigned kPage = 64, kPages = (kBuckets + kPage - 1) / kPage;
  static_assert(kPages < 256);

  std::array<uint8_t, kPages> places_{}; // 0: none; otherwise its number in counts_, from 1
  std::vector<uint64_t> counts_;
};

// Counts values of up to kWidth bits in such buckets.
template <unsigned kBits, unsigned kWidth, template <unsigned> typename Counts> class LogHistogram {
public:
  LogHistogram() = default;
  // What `other` has counted, in the same buckets.
  template <template <unsigned> typename Others>
  LogHistogram(const LogHistogram<kBits, kWidth, Others> &other) {
    merge(other);
  }

  void add(uint64_t value, uint64_t times = 1) {
    counts_.at(bucket(value)) += times;
    total_ += times;
    sum_ += static_cast<double>(value) * static_cast<double>(times);
    if (value > max_)
      max_ = value;
    if (value < min_)
      min_ = value;
  }
  template <template <unsigned> typename Others>
  void merge(const LogHistogram<kBits, kWidth, Others> &other) {
    for (unsigned i = 0; i < kBuckets; i++)
      if (const uint64_t count = other.counts_[i])
        counts_.at(i) += count;
    total_ += other.total_;
    sum_ += other.sum_;
    max_ = other.max_ > max_ ? other.max_ : max_;
    min_ = other.min_ < min_ ? other.min_ : min_;
  }
  // Takes away what the histogram had before. The extremes are then those of the buckets.
  template <template <unsigned> typename Others>
  void subtract(const LogHistogram<kBits, kWidth, Others> &before) {
    total_ -= before.total_;
    sum_ -= before.sum_;
    uint64_t least = UINT64_MAX, most = 0;
    for (unsigned i = 0; i < kBuckets; i++) {
      if (const uint64_t count = before.counts_[i])
        counts_.at(i) -= count;
      if (!counts_[i])
        continue;
      least = least == UINT64_MAX ? Buckets::lowest(i) : least;
      most = highest(i);
    }
    max_ = most < max_ ? most : max_;
    min_ = least > min_ || min_ == UINT64_MAX ? least : min_;
  }

  uint64_t count() const { return total_; }
  uint64_t max() const { return max_; }
  uint64_t min() const { return total_ ? min_ : 0; }
  double mean() const { return total_ ? sum_ / static_cast<double>(total_) : 0; }

  // See LogBuckets. 0 if the histogram is empty.
  uint64_t quantile(double fraction) const {
    return Buckets::quantile(counts_, 0, total_, max_, fraction);
  }

  // Calls each(lowest value, highest value, count) for each bucket that has values, in order.
  template <typename Each> void each(const Each &each) const {
    for (unsigned i = 0; i < kBuckets; i++)
      if (const uint64_t count = counts_[i])
        each(Buckets::lowest(i), Buckets::highest(i), count);
  }

private:
  template <unsigned, unsigned, template <unsigned> typename> friend class LogHistogram;
  using Buckets = LogBuckets<kBits, kWidth>;
  static constexpr unsigned kBuckets = Buckets::kBuckets;
  static unsigned bucket(uint64_t value) { return Buckets::bucket(value); }
  static uint64_t highest(unsigned index) { return Buckets::highest(index); }

  uint64_t total_ = 0, max_ = 0, min_ = UINT64_MAX;
  double sum_ = 0;
  Counts<kBuckets> counts_;
};

// Errors up to 0.8 %. 180 bytes, and 1 KiB for each octave that has values; mapped: 58 KiB.
using Histogram = LogHistogram<7, 64, PagedCounts>;
using MappedHistogram = LogHistogram<7, 64, FlatCounts>;
// Errors up to 6 %; 18 minutes in ns; 4.7 KiB.
using ShortHistogram = LogHistogram<4, 40, FlatCounts>;

// The buckets of a Histogram, with memory only for those between the least and the largest value:
// 1 KiB an octave. There is one for each stream.
class NarrowHistogram {
public:
  void add(uint64_t value) {
    const unsigned i = Buckets::bucket(value);
    if (counts_.empty())
      first_ = i;
    if (i < first_) {
      counts_.insert(counts_.begin(), first_ - i, 0);
      first_ = i;
    }
    if (i - first_ >= counts_.size())
      counts_.resize(i - first_ + 1);
    counts_[i - first_]++;
    count_++;
    sum_ += static_cast<double>(value);
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  uint64_t count() const { return count_; }
  uint64_t min() const { return count_ ? min_ : 0; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ ? sum_ / static_cast<double>(count_) : 0; }
  // Like Histogram::quantile().
  uint64_t quantile(double fraction) const {
    return Buckets::quantile(counts_, first_, count_, max_, fraction);
  }

private:
  using Buckets = LogBuckets<7, 64>;

  unsigned first_ = 0; // bucket of counts_[0]
  uint64_t count_ = 0, max_ = 0, min_ = UINT64_MAX;
  double sum_ = 0;
  std::vector<uint64_t> counts_;
};

} // namespace xr
