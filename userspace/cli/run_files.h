// SPDX-License-Identifier: Apache-2.0
// The files that a run of an experiment writes.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "cli/progress.h"
#include "places/run.h"

namespace xr::cli {

// Writes a file so that a reader finds the old content or the new. `write`: its error is handed on.
Status write_whole(const std::string &path, const std::string &text);
Status write_whole(const std::string &path, const std::function<Status(std::ostream &)> &write);

// Makes the directory, and those above it; it may be there.
Status make_directory(const std::string &path);

// Makes the directory and locks it until the descriptor is closed, here and in processes made after
// it. `shared`: others that share it may write too. Error: another run writes into it.
Result<Fd> own_directory(const std::string &path, bool shared = false);

// Directories, which are made; "": not written.
struct RunFiles {
  std::string out;   // series.csv, result.json, junit.xml, report.html, the tables of run_tables.h
  std::string plots; // an SVG for each plot, and a gnuplot script
};

// Where it runs. The last: a directory for its captures; "": none.
using RunPlace = std::function<Result<ExperimentResult>(
    const experiment::Experiment &, const places::RunHooks &, const std::string &)>;

// Runs it, and answers from its captures. series.csv is written during a run
// with few flows, result.json every few seconds and at the end, the others at the end.
Result<ExperimentResult>
run_experiment(const experiment::Experiment &experiment, const RunFiles &files,
               const std::function<bool(const places::RunProgress &)> &progress,
               const RunPlace &place);

// Simulated time, how much slower than real time, and when it will be over.
void show_progress(Progress &progress, const places::RunProgress &at);

} // namespace xr::cli
