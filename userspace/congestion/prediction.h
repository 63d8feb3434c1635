// SPDX-License-Identifier: Apache-2.0
// A question to the theory as words, and all its answers: fixed point, bound of convergence, phase
// margin, fluid model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "congestion/fluid.h"

namespace xr::congestion {

struct Question {
  DcqcnParameters parameters;
  Bottleneck path; // kmin, kmax and pmax are filled in by predict(), from `parameters`
  FluidRun run;
  uint32_t odd_flows = 0; // flows that start at `odd_rate_bits`, the others at the line's rate
  double odd_rate_bits = 0;
};

// `flows N rate R [kmin B] [kmax B] [pmax P] [delay D] [packet B] [start N R] [for D] [preset P]
// [NAME=VALUE ...]`
Result<Question> parse_question(const std::vector<std::string> &words);
// The words with what they mean, for the help.
std::string_view question_usage();

struct Prediction {
  Bottleneck path;
  FixedPoint point;
  std::optional<double> convergence_s, phase_margin;
  FluidResult fluid;
};

struct Answer {
  Prediction stated;
  // With the marking slope ten times as long (Kmax - Kmin and Pmax): the program that drew
  // CoNEXT'16's figure of stability has it, its text has not. Only for the text's values.
  std::optional<Prediction> published;
};
Answer predict(const Question &question);
// The stated values alone. `fluid`: with the fluid model, which takes longer than all else.
Prediction predict_stated(const Question &question, bool fluid);

} // namespace xr::congestion
