// SPDX-License-Identifier: Apache-2.0
#include "report/wide_series.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "report/rows.h"

namespace xr::report {

namespace {

using Kind = ExperimentSample::Kind;

constexpr double kNoSample = std::numeric_limits<double>::quiet_NaN();

std::string column_name(const ExperimentSample &sample, const std::vector<std::string> &names) {
  const char *kind = sample_kind_name(sample.kind);
  return sample.kind == Kind::Total
             ? fmt::format("{}:{}", kind, sample.column)
             : fmt::format("{}:{}:{}", kind, names[sample.row], sample.column);
}

} // namespace

double &WideSeries::cell_of(const ExperimentSample &sample, const std::vector<std::string> &names) {
  std::vector<Series> &rows = series_[static_cast<size_t>(sample.kind)];
  if (rows.size() <= sample.row)
    rows.resize(sample.row + size_t{1});
  Series &series = rows[sample.row];
  const std::string_view column = sample.column;
  const auto found =
      std::ranges::find_if(series, [column](const auto &item) { return item.first == column; });
  if (found != series.end())
    return cells_[found->second];
  series.emplace_back(sample.column, cells_.size());
  header_.push_back(column_name(sample, names));
  return cells_.emplace_back(kNoSample);
}

void WideSeries::add(const std::vector<ExperimentSample> &samples,
                     const std::vector<std::string> &flows,
                     const std::vector<std::string> &queues) {
  for (const ExperimentSample &sample : samples) {
    if (t_ns_ != sample.t_ns)
      end_row();
    t_ns_ = sample.t_ns;
    cell_of(sample, sample.kind == Kind::Flow ? flows : queues) = sample.value;
  }
}

// Cells of columns that are not known yet are missing.
void WideSeries::end_row() {
  if (!t_ns_)
    return;
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), "{}", *t_ns_);
  for (const double value : cells_)
    if (std::isnan(value))
      line.push_back(',');
    else
      fmt::format_to(std::back_inserter(line), ",{}", value);
  line.push_back('\n');
  rows_.write(line.data(), static_cast<std::streamsize>(line.size()));
  std::ranges::fill(cells_, kNoSample);
  t_ns_.reset();
}

bool WideSeries::write(const Sink &sink) {
  end_row();
  if (!rows_.flush() || !RowWriter(RowFormat::Csv, {}, header_, sink).finish())
    return false;
  rows_.seekg(0);
  for (std::string line; std::getline(rows_, line);) {
    const auto commas = static_cast<size_t>(std::ranges::count(line, ','));
    line.append(cells_.size() - commas, ',');
    line += '\n';
    if (!sink(line))
      return false;
  }
  return !rows_.bad();
}

} // namespace xr::report
