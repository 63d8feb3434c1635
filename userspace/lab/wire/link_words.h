// SPDX-License-Identifier: Apache-2.0
// The words of `link IF WORDS`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/link.h"
#include "parse/language.h"

namespace xr::wire {

using LinkLanguage = parse::Language<parse::Draft<LinkSpec>>;
const LinkLanguage &link_language();

// Words in any order, but those of a class follow `class N`. Errors are sentences with a hint.
Result<LinkSpec> parse_link(const std::vector<std::string> &words);

// The canonical words: parse_link() makes the same spec of them.
std::string link_text(const LinkSpec &spec);

} // namespace xr::wire
