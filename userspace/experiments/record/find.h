// SPDX-License-Identifier: Apache-2.0
// Runs the searches of an experiment file, each trial in a process of its own, and writes what they
// found.
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
  bool frames =
      false; // on this machine's ports: trials may err, and what is refused is the machine's limit
  RunPlace place = {};
  RunPlace again = {}; // after the first trial: without its notes
  const std::atomic<bool> *stop = nullptr;
  // How many trials ended, how many there may be, and words about the last one.
  std::function<void(uint64_t done, uint64_t most, const std::string &text)> progress = {};
};

// Every search of every point, in their order. The same for every number of jobs: what runs beside
// the next trial is one that may follow it. Error: a value of a range makes no experiment.
Result<std::vector<find::Found>> find_all(const experiment::ExperimentFile &file,
                                          const experiment::Settings &settings,
                                          const std::vector<experiment::Settings> &points,
                                          const FindOptions &options);

// Writes find.json, find.csv, trials.csv, junit.xml and report.html into `out`, which it makes.
Status write_find(const std::string &out, const std::string &name, const std::string &file,
                  const std::vector<find::Found> &found);
Status write_find_plots(const std::string &plots, const std::vector<find::Found> &found);

} // namespace xr::record
