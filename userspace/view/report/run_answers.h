// SPDX-License-Identifier: Apache-2.0
// What the captures of a run answer: the same sections in result.json, in the summary and in
// report.html.
#pragma once

#include "model/run_answers.h"
#include "report/document.h"

namespace xr::report {

// `answers` must outlive the sections. `most`: rows of a table in text.
std::vector<Section> answer_sections(const RunAnswers &answers, size_t most);

} // namespace xr::report
