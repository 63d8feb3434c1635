// SPDX-License-Identifier: Apache-2.0
// Tables for other programs, as CSV (RFC 4180) with a header.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "experiment/experiment.h"
#include "model/experiment_result.h"
#include "report/document.h"
#include "report/wide_series.h"
#include "sweep/point.h"

namespace xr::record {

Status write_table(const std::string &path, const report::Table &table);

// Writes flows.csv, queues.csv, and fct_by_size.csv where flows of several sizes ended.
Status write_run_tables(const std::string &out, const ExperimentResult &result);

// samples.csv, which is written at the end of the run.
class SampleTable {
public:
  static Result<std::unique_ptr<SampleTable>> make(const std::string &out);
  // `flows`, `queues`: names.
  void add(const std::vector<ExperimentSample> &samples, const std::vector<std::string> &flows,
           const std::vector<std::string> &queues);
  Status write();

private:
  explicit SampleTable(std::string path) : path_(std::move(path)), series_(rows_) {}

  std::string path_;
  std::fstream rows_;
  report::WideSeries series_;
};

// Writes sweep.csv.
Status write_sweep_table(const std::string &out, const std::vector<sweep::SweepPoint> &points);

} // namespace xr::record
