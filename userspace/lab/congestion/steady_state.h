// SPDX-License-Identifier: Apache-2.0
// The steady state of equal flows of DCTCP, HPCC, Swift or Copa at one queue, from their papers.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "parse/language.h"
#include "rate/steady_state.h"

namespace xr::congestion {

// Whether words of `cc predict` ask for it: the first one names such a control.
bool asks_for_steady_state(const std::vector<std::string> &words);
using SteadyLanguage = parse::Language<parse::Draft<SteadyQuestion>>;
const SteadyLanguage &steady_language();
// "dctcp|hpcc|swift|copa flows N rate R ...".
std::string steady_usage();
Result<SteadyQuestion> parse_steady_question(const std::vector<std::string> &words);

SteadyState steady_state(const SteadyQuestion &question);

} // namespace xr::congestion
