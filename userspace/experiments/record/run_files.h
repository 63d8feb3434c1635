// SPDX-License-Identifier: Apache-2.0
// The files that a run of an experiment writes.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "places/run.h"

namespace xr::record {

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

} // namespace xr::record
