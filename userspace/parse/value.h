// SPDX-License-Identifier: Apache-2.0
// Numbers as people write them, with and without units, and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "roce/rule.h"

namespace xr::parse {

// A number with the unit it was written in.
struct Number {
  double value = 0;
  std::string unit = {};

  std::string text() const;
};

// 0.01, 1e-6, 1%, 50ppm. `fraction` is what the datapath takes: p * 2^64, ~0 for certain.
struct Probability : Number {
  long double p() const;
  uint64_t fraction() const;
};
uint64_t fraction(long double p);
Result<Probability> probability(const std::string &word);
// Whether a word is meant as a number.
bool looks_like_number(const std::string &word);

// Any finite number, and whole ones in decimal or hexadecimal.
Result<double> real(const std::string &word, double from, double to);
Result<uint64_t> integer(const std::string &word, uint64_t from, uint64_t to,
                         std::string_view wanted = "a whole number");

// N or N-N, where `to` may be below `from` only if `wraps`.
enum class Order { Ascending, Wraps };
Result<roce_range> range(const std::string &word, uint32_t from, uint32_t to,
                         std::string_view wanted, Order order = Order::Ascending);
std::string range_text(const roce_range &range);
std::string hex_range_text(const roce_range &range);

// 10us 5ms 2s 1m: nanoseconds. A unit is needed.
Result<uint64_t> duration(const std::string &word);
std::string duration_text(uint64_t ns);

// 5k, 200KB, 1M, 64KiB (k = 1000, Ki = 1024).
Result<uint64_t> byte_count(const std::string &word, uint64_t from);
std::string byte_text(uint64_t bytes);

// 10gbit, 40g, 100mbit: bits per second.
Result<uint64_t> rate(const std::string &word);
std::string rate_text(uint64_t bits_per_second);

} // namespace xr::parse
