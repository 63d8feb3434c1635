// SPDX-License-Identifier: Apache-2.0
// Numbers as parts of sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/counted.h"

namespace xr::report {

std::string number_words(uint64_t number); // 1,234,567
// Two digits of it or of what remains to 100 %, whichever is less, at least one decimal and at most
// three: "12.3 %", "1.2 %", "0.26 %", "99.95 %"; never "0.0 %" of a part that is not 0.
std::string percent(uint64_t part, uint64_t whole);
std::string time_words(uint64_t ns); // "117.7 ms"
std::string rate_words(double bits); // "9.41 Gbit/s"
// A value or bound of an expectation: "3.1625 ms", "1.5".
std::string check_number(double value, const std::string &unit);
std::string listed(std::vector<std::string> all); // "a, b and c"
std::string qp_words(uint64_t qpn);               // "0x1a"

} // namespace xr::report
