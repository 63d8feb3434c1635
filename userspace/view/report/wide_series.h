// SPDX-License-Identifier: Apache-2.0
// samples.csv: series.csv with a column for each series.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/experiment.h"
#include "report/document.h"

namespace xr::report {

// A column is known when its first sample comes: rows are stored until the end.
class WideSeries {
public:
  // `rows`: an empty file that can be read and written.
  explicit WideSeries(std::iostream &rows) : rows_(rows) {}

  // Samples in the order of time; names of flows and queues as for series_lines().
  void add(const std::vector<ExperimentSample> &samples, const std::vector<std::string> &flows,
           const std::vector<std::string> &queues);
  // CSV: t_ns, then KIND:NAME:COLUMN or total:COLUMN of each series; a cell without a sample is
  // empty. False: `rows` could not be written or read, or the sink stopped it.
  bool write(const Sink &sink);

private:
  using Series = std::vector<std::pair<std::string, size_t>>; // columns of a row, and their cells
  double &cell_of(const ExperimentSample &sample, const std::vector<std::string> &names);
  void end_row();

  std::iostream &rows_;
  std::vector<std::string> header_ = {"t_ns"};
  std::array<std::vector<Series>, 3> series_; // by kind and row
  std::optional<uint64_t> t_ns_ = {};         // of the row that is not complete
  std::vector<double> cells_;                 // of it; NaN: no sample
};

} // namespace xr::report
