// SPDX-License-Identifier: Apache-2.0
// The steady state of equal flows of DCTCP, HPCC, Swift or Copa at one queue, from their papers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rate/steady_state.h"

namespace xr::congestion {

// Whether words of `cc predict` ask for it: the first one names such a control.
bool asks_for_steady_state(const std::vector<std::string> &words);
// `dctcp|hpcc|swift|copa flows N rate R [rtt D] [packet B] [switches N] [mark B] [NAME=VALUE ...]`
Result<SteadyQuestion> parse_steady_question(const std::vector<std::string> &words);
std::string_view steady_usage();
// The words that begin a part of it.
std::vector<std::string_view> steady_words();

SteadyState steady_state(const SteadyQuestion &question);

} // namespace xr::congestion
