// SPDX-License-Identifier: Apache-2.0
// An experiment as its file describes it: scenario, expectations, prediction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "expect/expectation.h"
#include "experiment/find.h"
#include "experiment/rules.h"
#include "experiment/settings.h"
#include "model/experiment_result.h"
#include "simulate/scenario.h"

namespace xr::experiment {

// The limit of a run until its jobs are done, where the file gives none. ns
inline constexpr uint64_t kLongestRun = 3'600'000'000'000;

// `sample-flows`: how many flows have samples in the files.
inline constexpr uint64_t kSampleFlows = 64, kSampleAllFlows = UINT64_MAX;

struct Experiment {
  std::string name;
  std::string text; // of the file, before settings
  simulate::Scenario scenario;
  uint64_t sample_flows = kSampleFlows;
  Rules rules;
  std::vector<CaptureSetup> captures;
  bool analyze = false;          // the captures `left` and `right`, after the run
  bool only_for_answers = false; // captures are temporary: only the analysis needs them
  Subject subject;               // what expectations may name
  ExperimentPrediction prediction;
  std::vector<Expectation> expectations; // all checked
  std::vector<Find> finds;               // searches; their goals are checked
};

class ExperimentFile {
public:
  // `path` may be "-". Files that the experiment names are found relative to its directory.
  static Result<ExperimentFile> load(const std::string &path);
  ExperimentFile(std::string text, std::string name, std::string directory);

  // All points of the file's sweep, the last key varying fastest; one point without settings if it
  // has none. The error names file and line, or the setting.
  Result<std::vector<Settings>> points(const Settings &settings) const;
  const std::string &text() const { return text_; }

  // Later settings win.
  Result<Experiment> read(const Settings &settings) const { return read(settings, true); }
  // Checks all but whether the model is stable, which only a run needs and takes most of the
  // time.
  struct Checked {
    std::string name;      // of the experiment
    bool searches = false; // it has `find`
  };
  Result<Checked> check(const Settings &settings) const;

private:
  Result<Experiment> read(const Settings &settings, bool fluid) const;
  // The error as one of the command line, if the file is right without the settings.
  Error of_settings(Error error, const Settings &settings) const;

  std::string text_, name_, directory_;
  std::string point_text_; // without the lines of `sweep`, which may be longer than all others
};

} // namespace xr::experiment
