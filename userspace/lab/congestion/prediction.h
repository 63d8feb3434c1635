// SPDX-License-Identifier: Apache-2.0
// A question to the theory as words, and all its answers: fixed point, bound of convergence, phase
// margin, fluid model.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "parse/language.h"
#include "rate/prediction.h"

namespace xr::congestion {

using QuestionLanguage = parse::Language<parse::Draft<Question>>;
const QuestionLanguage &question_language();
// "flows N rate R [kmin B] ...".
std::string question_usage();
Result<Question> parse_question(const std::vector<std::string> &words);

Answer predict(const Question &question);
// The stated values alone. `fluid`: with the fluid model, which takes longer than all else.
Prediction predict_stated(const Question &question, bool fluid);

} // namespace xr::congestion
