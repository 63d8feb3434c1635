// SPDX-License-Identifier: Apache-2.0
// The report of an experiment as one HTML file that needs no network: plots one can zoom
// (dygraphs), expectations, tables, the file of the experiment.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/experiment_result.h"
#include "plot/figure.h"

namespace xr::plot {

// Cells are numbers, words or unknown.
struct PageTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::variant<std::monostate, double, std::string>>> rows;
};

struct Page {
  std::string file;            // text of the experiment's file
  std::vector<Moment> moments; // its schedule
  std::vector<Figure> figures;
  std::vector<PageTable> tables = {}; // after those of flows, queues and rules
};

std::string html(const ExperimentResult &result, const Page &page);

// Two runs over one another.
struct ComparisonPage {
  struct Row {
    std::string name, column; // of a flow or queue
    double first = 0, second = 0;
    std::optional<double> relative; // (second - first) / first
  };
  std::string title;
  std::array<std::pair<std::string, ExperimentResult>, 2> runs; // with their labels
  std::vector<Row> rows;
  std::vector<Figure> figures;
};

std::string html(const ComparisonPage &page);

} // namespace xr::plot
