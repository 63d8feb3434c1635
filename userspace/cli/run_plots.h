// SPDX-License-Identifier: Apache-2.0
// The plots of a run: report.html, and SVGs with a gnuplot script.
#pragma once

#include <string>

#include "base/result.h"
#include "experiment/experiment.h"
#include "model/experiment_result.h"
#include "plot/recorder.h"

namespace xr::cli {

plot::Recorder plot_recorder(const experiment::Experiment &experiment);

// Writes report.html into `out` and ID.svg and plot.gp into `plots`; "": not.
Status write_plots(const std::string &out, const std::string &plots,
                   const experiment::Experiment &experiment, const ExperimentResult &result,
                   const plot::Recorder &recorder);

} // namespace xr::cli
