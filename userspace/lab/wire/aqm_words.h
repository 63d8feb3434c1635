// SPDX-License-Identifier: Apache-2.0
// The words of an AQM, which a link and each of its classes can have.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/link.h"
#include "parse/words.h"

namespace xr::wire {

inline constexpr std::array<std::string_view, 3> kAqmWords = {"red", "step", "blue"};

// Takes what follows the word.
Status read_aqm(std::string_view kind, parse::WordReader &words, LinkAqm &aqm);
// Takes an AQM with its options, if the next word begins one. Value: whether it did.
Result<bool> take_aqm(parse::WordReader &words, LinkAqm &aqm);
// "" for none.
std::string aqm_text(const LinkAqm &aqm);

} // namespace xr::wire
