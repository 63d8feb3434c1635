// SPDX-License-Identifier: Apache-2.0
// Runs the points of a sweep, each in a process of its own, and stores each in its directory:
// point.json.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "experiment/experiment.h"
#include "record/run_files.h"
#include "report/experiment.h"
#include "sweep/point.h"

namespace xr::record {

// Points that this process runs: those whose number, from 0, is `index` modulo `count`.
struct SweepShare {
  uint64_t index = 0, count = 1;
};
// "I/N" with I from 1; "auto": from the variables of Slurm, Open MPI or an MPI with PMI; "auto/N":
// the same, or Kubernetes' JOB_COMPLETION_INDEX, of N.
Result<SweepShare> parse_share(const std::string &word);

struct SweepOptions {
  std::string out; // a directory for each point below it; "": no files
  unsigned jobs = 1;
  SweepShare share = {};
  RunPlace place = {};
  const std::atomic<bool> *stop = nullptr; // set: the processes are ended
  // Progress: how much of the whole is done, and words about it.
  std::function<void(uint64_t done, uint64_t total, const std::string &text)> progress = {};
  // Called with the number of points that `out` has already.
  std::function<void(size_t)> on_found = {};
};

experiment::Settings joined(const experiment::Settings &first, const experiment::Settings &second);

// Runs the points of the share, in the order of `points`. A signal ends the processes; points that
// did not run have a failure. A point whose result is in `out`, of the same file, settings and
// version, is not run again.
Result<std::vector<sweep::SweepPoint>> sweep(const experiment::ExperimentFile &file,
                                             const experiment::Settings &settings,
                                             const std::vector<experiment::Settings> &points,
                                             const SweepOptions &options);

} // namespace xr::record
