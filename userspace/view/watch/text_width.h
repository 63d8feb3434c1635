// SPDX-License-Identifier: Apache-2.0
// Numbers as text, and the width of text on a terminal, in columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace xr::watch {

// 1,234,567, and 1.23 M.
std::string counted(uint64_t number);
std::string scaled(double number);

// Columns of UTF-8 text: wide characters count two, combining characters none.
size_t columns_of(std::string_view text);

// Makes text from outside (names of interfaces and rules) safe to display: control characters, and
// non-ASCII characters unless `unicode`, become question marks.
std::string drawable(std::string_view text, bool unicode);

// Shortens to at most `columns` columns: cut() at the end, cut_middle() in the middle (for
// addresses). A tilde marks the cut, unless only spaces were removed.
std::string cut(const std::string &text, size_t columns);
std::string cut_middle(const std::string &text, size_t columns);

// Removes the first columns. Half of a wide character becomes a space.
std::string from_column(const std::string &text, size_t columns);

// Makes text exactly `columns` wide: cuts it, or pads it with spaces at the right or at the left.
std::string to_left(const std::string &text, size_t columns);
std::string to_right(const std::string &text, size_t columns);

} // namespace xr::watch
