// SPDX-License-Identifier: Apache-2.0
// The tables of rule keywords.
#pragma once

#include <span>

#include "impair/draft.h"

namespace xr::impair {

std::span<const Keyword> match_words();  // each may follow `not`
std::span<const Keyword> select_words(); // selectors, schedules, limit
std::span<const Keyword> action_words();

// qp N psn P|P-P|all [iter K]
Status parse_event(Draft &draft, WordReader &words);
// psn +K|+K-L [iter K]; `offset` is the word after the +
Status parse_psn_offset(Draft &draft, const std::string &offset, WordReader &words);
// Conditions that read the frame again: outer.cpp.
Status parse_src_mac(Draft &draft, WordReader &words);
Status parse_dst_mac(Draft &draft, WordReader &words);
Status parse_pcp(Draft &draft, WordReader &words);
Status parse_inner_vlan(Draft &draft, WordReader &words);
Status parse_mpls(Draft &draft, WordReader &words);
Status parse_src_port(Draft &draft, WordReader &words);
Status parse_dst_port(Draft &draft, WordReader &words);
Status parse_roce_version(Draft &draft, WordReader &words);
Status parse_bytes(Draft &draft, WordReader &words);
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
