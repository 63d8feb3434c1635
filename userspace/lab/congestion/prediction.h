// SPDX-License-Identifier: Apache-2.0
// A question to the theory as words, and all its answers: fixed point, bound of convergence, phase
// margin, fluid model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rate/prediction.h"

namespace xr::congestion {

// `flows N rate R [kmin B] [kmax B] [pmax P] [delay D] [packet B] [start N R] [for D] [preset P]
// [NAME=VALUE ...]`
Result<Question> parse_question(const std::vector<std::string> &words);
// The words with what they mean, for the help.
std::string_view question_usage();

// The words that begin a part of it.
std::vector<std::string_view> question_words();

Answer predict(const Question &question);
// The stated values alone. `fluid`: with the fluid model, which takes longer than all else.
Prediction predict_stated(const Question &question, bool fluid);

} // namespace xr::congestion
