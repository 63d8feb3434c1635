// SPDX-License-Identifier: Apache-2.0
// Parses numbers with and without units, and formats them again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "roce/rule.h"

namespace xr::parse {

// A number and the unit it was written with.
struct Number {
  double value = 0;
  std::string unit = {};

  std::string text() const;
  bool operator==(const Number &) const = default;
};

// 0.01, 1e-6, 1%, 50ppm. fraction() is the form that the datapath uses: p * 2^64, with ~0 for 1.
struct Probability : Number {
  bool operator==(const Probability &) const = default;
  long double p() const;
  uint64_t fraction() const;
};
uint64_t fraction(long double p);
Result<Probability> probability(const std::string &word);
// True if the word starts like a number.
bool looks_like_number(const std::string &word);

// A finite number; a whole number in decimal or hexadecimal. Error if it is outside [from, to].
Result<double> real(const std::string &word, double from, double to);
Result<uint64_t> integer(const std::string &word, uint64_t from, uint64_t to,
                         std::string_view expected = "a whole number");

// N or N-N. `to` may be less than `from` only with Order::Wraps (PSNs).
enum class Order { Ascending, Wraps };
Result<roce_range> range(const std::string &word, uint32_t from, uint32_t to,
                         std::string_view expected, Order order = Order::Ascending);
std::string range_text(const roce_range &range);
std::string hex_range_text(const roce_range &range);

// 10us, 5ms, 2s, 1m: nanoseconds. The unit is required.
Result<uint64_t> duration(const std::string &word);
Result<uint64_t> duration_above_0(const std::string &word, const char *hint = "like 10s");
std::string duration_text(uint64_t ns);

// 5k, 200KB, 1M, 64KiB: bytes (k = 1000, Ki = 1024).
Result<uint64_t> byte_count(const std::string &word, uint64_t from);
std::string byte_text(uint64_t bytes);

// 10gbit, 40g, 100mbit: bits per second. At kSlowestRate, the transmission time of 64 KB (see
// roce_queue_add) is just below 2^64; what is not the rate of a link or queue may be slower.
constexpr uint64_t kSlowestRate = 125'000;
Result<uint64_t> rate(const std::string &word, uint64_t from = kSlowestRate);
std::string rate_text(uint64_t bits_per_second);

// The kind of a unit, and its factor to ns, bytes, bit/s, packets/s or a part of 1.
enum class UnitKind : uint8_t { None, Time, Bytes, Rate, Packets, Share };
struct KnownUnit {
  UnitKind kind = UnitKind::None;
  double factor = 1;
};
// Knows durations, sizes and rates. "k" and "M" are sizes, "m" is minutes.
std::optional<KnownUnit> known_unit(const std::string &unit);

} // namespace xr::parse
