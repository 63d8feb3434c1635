// SPDX-License-Identifier: Apache-2.0
// Keeps samples of an experiment for its plots: least, mean and largest value of each interval, so
// that the memory and the size of a report do not grow with the number of samples.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/experiment.h"

namespace xr::plot {

class Recorder {
public:
  // Intervals of a run of `duration_ns`, for `rows` flows and queues that are sampled each
  // `sample_ns`.
  Recorder(uint64_t duration_ns, uint64_t sample_ns, size_t rows);

  void add(std::span<const ExperimentSample> samples);

  struct Cell {
    float low = 0, high = 0;
    double sum = 0;
    uint32_t count = 0; // 0: no sample
  };
  using Cells = std::vector<Cell>;
  // One row's cells; nullptr if there was no sample.
  const Cells *find(ExperimentSample::Kind kind, uint32_t row, std::string_view column) const;

  size_t intervals() const { return intervals_; }
  double interval_s() const { return interval_s_; }

private:
  struct Column {
    ExperimentSample::Kind kind;
    std::string name;
    std::vector<Cells> rows; // empty: no sample
  };
  Cells &cells_of(const ExperimentSample &sample);

  uint64_t duration_ns_;
  size_t intervals_;
  double interval_s_;
  std::vector<Column> columns_;
};

} // namespace xr::plot
