// SPDX-License-Identifier: Apache-2.0
// The plots of a run: report.html, and SVGs with a gnuplot script; the plots of a sweep.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "experiment/experiment.h"
#include "model/experiment_result.h"
#include "plot/figure.h"
#include "plot/recorder.h"
#include "report/experiment.h"
#include "sweep/point.h"

namespace xr::record {

class RunSamples;

plot::Recorder plot_recorder(const experiment::Experiment &experiment);

// Writes ID.svg of each figure into `plots`, which it makes if needed.
Status write_svgs(const std::string &plots, const std::vector<plot::Figure> &figures);

// Writes report.html into `out` and ID.svg and plot.gp into `plots`; "": not.
Status write_plots(const std::string &out, const std::string &plots,
                   const experiment::Experiment &experiment, const ExperimentResult &result,
                   const RunSamples &samples);

// Samples for 500 points of a plot, of an experiment that says nothing of samples; of many flows
// fewer, unless expectations need them.
void sample_for_plots(experiment::Experiment &experiment);

// Writes report.html into `out`, with a link to the page of each point.
Status write_sweep_page(const std::string &out, const std::string &name, Verdict verdict,
                        const std::vector<sweep::SweepPoint> &points);

// Writes an SVG for each of the numbers of a sweep's points into `plots`; of those that were
// measured.
Status write_sweep_plots(const std::string &plots, const std::vector<sweep::SweepPoint> &points);

} // namespace xr::record
