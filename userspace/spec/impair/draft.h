// SPDX-License-Identifier: Apache-2.0
// A rule that is being read, and the tables of its words.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "impair/spec.h"
#include "parse/language.h"

namespace xr::impair {

using parse::WordReader;

struct Draft : parse::Draft<RuleSpec> {
  bool negated = false; // the word follows `not`
  uint32_t excess = 0;  // action of `police`: ROCE_ACT_DROP, ROCE_ACT_CE or 0
  template <typename T> void match(Field field, T value) {
    spec.match[field] = {std::move(value), negated};
  }
};
using RuleWord = parse::Word<Draft>;

// What `qp N psn P` and `psn +K` set.
inline constexpr std::string_view kEvent = "event";

std::span<const RuleWord> match_words();     // each may follow `not`
std::span<const RuleWord> bth_match_words(); // the same, fields of the BTH
std::span<const RuleWord> outer_words();     // the same, other headers
std::span<const RuleWord> event_words();
std::span<const RuleWord> select_words();
std::span<const RuleWord> schedule_words(); // and limits
std::span<const RuleWord> action_words();
std::span<const RuleWord> hold_words();

// Checks the combination of actions and adds those that others imply.
Status join_actions(Draft &draft);

// psn +K|+K-L [iter K]; `offset` is the word after the +
Status parse_psn_offset(Draft &draft, const std::string &offset, WordReader &words);
// red, police
Status parse_red(Draft &draft, WordReader &words);
Status parse_police(Draft &draft, WordReader &words);
// delay, accumulate, reorder, shape
Status parse_delay(Draft &draft, WordReader &words);
Status parse_accumulate(Draft &draft, WordReader &words);
Status parse_reorder(Draft &draft, WordReader &words);
Status parse_shape(Draft &draft, WordReader &words);
// distance uniform|gaussian|poisson|gamma|table ...
Status parse_distance(Draft &draft, WordReader &words);

} // namespace xr::impair
