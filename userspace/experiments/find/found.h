// SPDX-License-Identifier: Apache-2.0
// The results of searches, and their report.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "find/search.h"
#include "model/experiment_result.h"
#include "parse/quantity.h"
#include "report/document.h"
#include "report/summary.h"
#include "sweep/point.h"

namespace xr::find {

// One trial.
struct Tried {
  size_t index = 0; // of the grid
  std::string value;
  parse::Quantity quantity;
  bool longer = false;              // with the duration that confirms
  std::vector<Outcome> outcomes;    // of the goals
  std::vector<std::string> reasons; // of the goals; "": it holds
  sweep::SweepNumbers numbers;
};

// What was found for one goal. The values are those of trials.
struct Finding {
  std::string goal; // "": all expectations
  Answer answer;
  std::optional<size_t> holds, fails; // trials
  std::string twist;                  // the two values that are not in order; "": none
};

// One search: of one point of the sweep, and one key.
struct Found {
  std::vector<std::pair<std::string, std::string>> settings; // of the point
  std::string key, low, high, resolution;
  bool least = false, of_rate = false;
  std::string traffic;   // "1,024-byte WRITEs"
  double line = 0;       // bit/s of the senders' links, by the file; 0: not known
  double frame_bits = 0; // of each frame, as the links' rate counts it; 0: not known, or several
  std::vector<Tried> tried;
  std::vector<Finding> findings;                 // a goal each
  std::vector<std::pair<std::string, Tried>> at; // shares of what the first goal found
};

Verdict verdict_of(const Finding &finding);
Verdict verdict_of(const std::vector<Found> &found);

// Begins with the settings of the sweep's point: "size=64: ".
std::string sentence(const Found &found, const Finding &finding);
report::Summary summary(const std::vector<Found> &found);

// `found` must outlive the document.
report::Document document(const std::string &name, const std::vector<Found> &found);
// A row for each finding; a row for each trial and goal.
report::Table findings_table(const std::vector<Found> &found);
report::Table trials_table(const std::vector<Found> &found);
// Frames a second that reached the receivers.
double frames_of(const Found &found, const sweep::SweepNumbers &numbers);
// Such frames that the line carries in a second; unset: not known.
std::optional<double> line_frames(const Found &found, const Tried &tried);

// Each finding as an expectation, for JUnit and TAP.
std::vector<ExperimentResult> as_results(const std::string &name, const std::vector<Found> &found);

} // namespace xr::find
