// SPDX-License-Identifier: Apache-2.0
// How much room text takes on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace xr::watch {

// Columns that UTF-8 text takes, wide characters two, combining ones none.
size_t columns_of(std::string_view text);

// Names of interfaces and rules are somebody else's text: without what could steer the terminal,
// and, unless `unicode`, in ASCII. What cannot be shown is a question mark.
std::string drawable(std::string_view text, bool unicode);

// At most that many columns: cut with a tilde at the end, unless only spaces are lost, or in the
// middle as addresses want it.
std::string cut(const std::string &text, size_t columns);
std::string cut_middle(const std::string &text, size_t columns);

// Without its first columns; what is left of half a wide character is a space.
std::string from_column(const std::string &text, size_t columns);

// Exactly that many: cut or filled up with spaces.
std::string to_left(const std::string &text, size_t columns);
std::string to_right(const std::string &text, size_t columns);

} // namespace xr::watch
