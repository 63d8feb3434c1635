// SPDX-License-Identifier: Apache-2.0
#include "record/run_tables.h"

#include <cerrno>
#include <filesystem>
#include <ostream>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "report/experiment.h"
#include "report/rows.h"
#include "results/files.h"

namespace xr::record {

namespace {

report::Sink sink_of(std::ostream &file) {
  return [&file](std::string_view piece) { return static_cast<bool>(file << piece); };
}

// A table of an earlier run in this directory is removed where this run has none.
Status write_fct_by_size(const std::string &out, const ExperimentMeasurement &measured) {
  const std::string path = out + "/fct_by_size.csv";
  if (const auto section = report::fct_by_size(measured))
    return write_table(path, std::get<report::Table>(section->body));
  std::error_code error;
  std::filesystem::remove(path, error);
  return error ? Status(Error{"cannot remove " + path + ": " + error.message()}) : Status();
}

} // namespace

Status write_table(const std::string &path, const report::Table &table) {
  return write_whole(path, [&table](std::ostream &file) {
    report::write_rows(table, report::RowFormat::Csv, {}, sink_of(file));
    return Status();
  });
}

Status write_run_tables(const std::string &out, const ExperimentResult &result) {
  const report::Document document = report::experiment_report(result);
  for (const std::string section : {"flows", "queues"})
    XR_TRY(write_whole(fmt::format("{}/{}.csv", out, section), [&](std::ostream &file) {
      report::write_rows(document, section, report::RowFormat::Csv, {}, sink_of(file));
      return Status();
    }));
  return write_fct_by_size(out, result.measured);
}

Result<std::unique_ptr<SampleTable>> SampleTable::make(const std::string &out) {
  std::unique_ptr<SampleTable> table(new SampleTable(out + "/samples.csv"));
  const std::string rows = table->path_ + ".rows";
  errno = 0;
  table->rows_.open(rows, std::ios::in | std::ios::out | std::ios::trunc | std::ios::binary);
  if (!table->rows_)
    return errno_error(errno, "cannot write " + rows);
  std::error_code error;
  std::filesystem::remove(rows, error); // the open file remains
  return table;
}

void SampleTable::add(const std::vector<ExperimentSample> &samples,
                      const std::vector<std::string> &flows,
                      const std::vector<std::string> &queues) {
  series_.add(samples, flows, queues);
}

Status SampleTable::write() {
  return write_whole(path_, [this](std::ostream &file) {
    errno = 0;
    return series_.write(sink_of(file)) ? Status()
                                        : Status(errno_error(errno, "cannot write " + path_));
  });
}

Status write_sweep_table(const std::string &out, const std::vector<sweep::SweepPoint> &points) {
  return write_table(out + "/sweep.csv", sweep::sweep_table(points));
}

} // namespace xr::record
