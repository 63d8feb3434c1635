// SPDX-License-Identifier: Apache-2.0
// Runs the searches of an experiment file, each trial in its own process, and writes their results.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "experiment/experiment.h"
#include "find/found.h"
#include "record/run_files.h"

namespace xr::record {

struct FindOptions {
  unsigned jobs = 1;
  bool frames = false; // not in virtual time: trials may err, and may fail at this machine's limit
  RunPlace place = {}, again = {}; // of the first trial; of the others, which print no notes
  const std::atomic<bool> *stop = nullptr;
  // Trials that ended, an estimate of all, and a text about the last one.
  std::function<void(uint64_t done, uint64_t most, const std::string &text)> progress = {};
};

// Every search of every point, in their order. The result does not depend on `jobs`: further
// processes run trials that may follow the next one. Error: an end of a range, or in virtual time
// a trial, makes no experiment.
Result<std::vector<find::Found>> find_all(const experiment::ExperimentFile &file,
                                          const experiment::Settings &settings,
                                          const std::vector<experiment::Settings> &points,
                                          const FindOptions &options);

// Makes `out`, and writes find.json, find.csv, trials.csv, report.html and junit.xml (of `results`)
// into it.
Status write_find(const std::string &out, const std::string &name, const std::string &file,
                  const std::vector<find::Found> &found,
                  const std::vector<const ExperimentResult *> &results);
Status write_find_plots(const std::string &plots, const std::vector<find::Found> &found);

} // namespace xr::record
