// SPDX-License-Identifier: Apache-2.0
// Numbers with SI prefixes and units, as people write them.
#pragma once

#include <string>

namespace xr::names {

// "12.5M", "0.25"; prefixes below 1 for seconds only: "3u".
std::string si(double value, const std::string &unit, int digits = 4);
// With its unit: "117.7 ms", "20 Gbit/s", "18.51 kB" (of "bytes"), "0.25". Of "ns" in seconds.
std::string quantity(double value, const std::string &unit, int digits = 4);
// Digits by which the words of two numbers differ where the numbers do: 4, or 6.
int digits_of(double value, double other, const std::string &unit);

} // namespace xr::names
