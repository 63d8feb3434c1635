// SPDX-License-Identifier: Apache-2.0
// Reports of `run`: result.json and the summary, series.csv, JUnit XML, TAP, the list of installed
// experiments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/experiment_result.h"
#include "report/document.h"

namespace xr::report {

// `result` must outlive the document.
Document experiment_report(const ExperimentResult &result);

// Percentiles of FCT and slowdown of the flows that ended, in up to 20 bins by size with as many
// flows each. Unset: fewer than two sizes ended, or FCTs were not measured.
std::optional<Section> fct_by_size(const ExperimentMeasurement &measured);

// An installed experiment.
struct ExperimentEntry {
  std::string name, about, path;
  std::vector<std::string> on = {"virtual"}; // where it can run: perhaps also --on namespaces
};
Document experiment_list(const std::vector<ExperimentEntry> &entries);

// A test suite with a test case for each expectation. Void: an error.
std::string junit_xml(const std::vector<const ExperimentResult *> &results);
// Test Anything Protocol, version 13.
std::string tap(const std::vector<const ExperimentResult *> &results);

// Lines of series.csv. `rows`: names of flows and queues.
std::string series_header();
std::string series_lines(const std::vector<ExperimentSample> &samples,
                         const std::vector<std::string> &flows,
                         const std::vector<std::string> &queues);

} // namespace xr::report
