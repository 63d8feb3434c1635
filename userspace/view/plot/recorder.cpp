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

void Recorder::add(std::span<const ExperimentSample> samples) {
  for (const ExperimentSample &sample : samples) {
    auto at = cells_.find(KeyView{sample.kind, sample.row, sample.column});
    if (at == cells_.end())
      at = cells_.emplace(Key{sample.kind, sample.row, sample.column}, Cells(intervals_)).first;
    // A sample is of the time before it.
    const double part =
        (static_cast<double>(sample.t_ns) - 0.5) / static_cast<double>(duration_ns_);
    const auto index = static_cast<size_t>(std::max(part, 0.0) * static_cast<double>(intervals_));
    Cell &cell = at->second[std::min(index, intervals_ - 1)];
    const auto value = static_cast<float>(sample.value);
    cell.low = cell.count ? std::min(cell.low, value) : value;
    cell.high = cell.count ? std::max(cell.high, value) : value;
    cell.sum += sample.value;
    cell.count++;
  }
}

const Recorder::Cells *Recorder::find(ExperimentSample::Kind kind, uint32_t row,
                                      std::string_view column) const {
  const auto at = cells_.find(KeyView{kind, row, column});
  return at == cells_.end() ? nullptr : &at->second;
}

} // namespace xr::plot
