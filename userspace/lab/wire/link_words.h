// SPDX-License-Identifier: Apache-2.0
// The words of `link IF WORDS`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/link.h"

namespace xr::wire {

// Words in any order, but those of a class follow `class N`. Errors are sentences with a hint.
Result<LinkSpec> parse_link(const std::vector<std::string> &words);

// The words that an argument of their own may follow: rate, delay, red and so on.
std::vector<std::string_view> link_words();

// The canonical words: parse_link() makes the same spec of them.
std::string link_text(const LinkSpec &spec);

} // namespace xr::wire
