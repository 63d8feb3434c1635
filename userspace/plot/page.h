// SPDX-License-Identifier: Apache-2.0
// The report of an experiment as one HTML file that needs no network: plots one can zoom (uPlot),
// expectations, tables, the file of the experiment.
#pragma once

#include <string>
#include <vector>

#include "model/experiment_result.h"
#include "plot/figure.h"

namespace xr::plot {

struct Page {
  std::string file;            // text of the experiment's file
  std::vector<Moment> moments; // its schedule
  std::vector<Figure> figures;
};

std::string html(const ExperimentResult &result, const Page &page);

} // namespace xr::plot
