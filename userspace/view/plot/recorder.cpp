// SPDX-License-Identifier: Apache-2.0
#include "plot/recorder.h"

#include <algorithm>

namespace xr::plot {
namespace {

// All rows together: three numbers of 4 bytes, in base64, are some 6 MB in the report.
constexpr size_t kMostCells = 400'000;
constexpr size_t kMostIntervals = 2000, kFewestIntervals = 50;

size_t intervals_of(uint64_t duration_ns, uint64_t sample_ns, size_t rows) {
  size_t most =
      std::clamp(kMostCells / std::max<size_t>(rows, 1), kFewestIntervals, kMostIntervals);
  if (sample_ns)
    most = std::min<size_t>(most, std::max<uint64_t>(duration_ns / sample_ns, 1));
  return most;
}

} // namespace

Recorder::Recorder(uint64_t duration_ns, uint64_t sample_ns, size_t rows)
    : duration_ns_(std::max<uint64_t>(duration_ns, 1)),
      intervals_(intervals_of(duration_ns_, sample_ns, rows)),
      interval_s_(static_cast<double>(duration_ns_) / 1e9 / static_cast<double>(intervals_)) {}

Recorder::Cells &Recorder::cells_of(const ExperimentSample &sample) {
  const std::string_view name = sample.column;
  auto column = std::ranges::find_if(columns_, [&](const Column &known) {
    return known.kind == sample.kind && known.name == name;
  });
  if (column == columns_.end())
    column = columns_.insert(column, {sample.kind, std::string(name), {}});
  if (column->rows.size() <= sample.row)
    column->rows.resize(sample.row + size_t{1});
  Cells &cells = column->rows[sample.row];
  if (cells.empty())
    cells.resize(intervals_);
  return cells;
}

void Recorder::add(std::span<const ExperimentSample> samples) {
  for (const ExperimentSample &sample : samples) {
    // A sample is of the time before it.
    const double part =
        (static_cast<double>(sample.t_ns) - 0.5) / static_cast<double>(duration_ns_);
    const auto index = static_cast<size_t>(std::max(part, 0.0) * static_cast<double>(intervals_));
    Cell &cell = cells_of(sample)[std::min(index, intervals_ - 1)];
    const auto value = static_cast<float>(sample.value);
    cell.low = cell.count ? std::min(cell.low, value) : value;
    cell.high = cell.count ? std::max(cell.high, value) : value;
    cell.sum += sample.value;
    cell.count++;
  }
}

const Recorder::Cells *Recorder::find(ExperimentSample::Kind kind, uint32_t row,
                                      std::string_view column) const {
  for (const Column &known : columns_)
    if (known.kind == kind && known.name == column)
      return row < known.rows.size() && !known.rows[row].empty() ? &known.rows[row] : nullptr;
  return nullptr;
}

} // namespace xr::plot
