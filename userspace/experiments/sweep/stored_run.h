// SPDX-License-Identifier: Apache-2.0
// Runs as `run --out DIR` stored them, and several of them beside one another.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/experiment_result.h"
#include "report/document.h"

namespace xr::sweep {

using report::Document;

// Numbers of a flow, a queue, or the whole run ("").
struct StoredRow {
  ExperimentSample::Kind kind = ExperimentSample::Kind::Total;
  std::string name = {};
  std::vector<std::pair<std::string, double>> numbers = {}; // by column; unknown ones are left out
};

// result.json. In `result`, queues have no histogram, and expectations are left out.
struct StoredRun {
  ExperimentResult result;
  std::vector<StoredRow> rows;
};

// Error: `text` is no result.json.
Result<StoredRun> read_stored_run(const std::string &text);

// Reads series.csv, a batch at a time.
class SeriesReader {
public:
  // `run` gives the numbers of its flows and queues. Error: the file cannot be read, or is no
  // series.csv.
  static Result<SeriesReader> open(const std::string &path, const StoredRun &run);

  // The next samples; none: the end. They refer to this object. Error: a line is no sample.
  Result<std::vector<ExperimentSample>> next();

private:
  SeriesReader() = default;
  std::optional<ExperimentSample> parse(std::string_view line);

  std::string path_;
  std::ifstream file_;
  uint64_t line_ = 1;
  bool has_goodput_ = false; // samples of that column
  std::map<std::string, uint32_t, std::less<>> flows_, queues_;
  std::map<std::string, std::unique_ptr<std::string>, std::less<>> columns_;
};

// A number that all runs have.
struct RunDifference {
  ExperimentSample::Kind kind = ExperimentSample::Kind::Total;
  std::string name, column;   // of rows that were joined: "17 flows"
  std::vector<double> values; // of the runs, in their order

  // (value of `run` - first) / first; unset if the first is 0.
  std::optional<double> relative(size_t run = 1) const;
};

struct RunComparison {
  std::vector<RunDifference> all;
  std::vector<RunDifference> summary;   // flows joined where there are many: means
  std::vector<std::string> only_in_one; // flows and queues that another run does not have
};
// At least two.
RunComparison compare_runs(const std::vector<StoredRun> &runs);

// `labels`: names of the runs. The arguments must outlive the document.
Document comparison_report(const std::vector<std::string> &labels,
                           const std::vector<StoredRun> &runs, const RunComparison &comparison);

} // namespace xr::sweep
