// SPDX-License-Identifier: Apache-2.0
// Numbers as parts of sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xr::report {

std::string number_words(uint64_t number); // 1,234,567
// "1 packet", "2 packets". `plural`: "" adds an s.
std::string counted(uint64_t number, std::string_view noun, std::string_view plural = "");
// Two digits of it or of what remains to 100 %, whichever is less, at least one decimal and at most
// three: "12.3 %", "1.2 %", "0.26 %", "99.95 %"; never "0.0 %" of a part that is not 0.
std::string percent(uint64_t part, uint64_t whole);
std::string time_words(uint64_t ns);              // "117.7 ms"
std::string rate_words(double bits);              // "9.41 Gbit/s"
std::string listed(std::vector<std::string> all); // "a, b and c"
std::string qp_words(uint64_t qpn);               // "0x1a"

} // namespace xr::report
