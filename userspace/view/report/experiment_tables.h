// SPDX-License-Identifier: Apache-2.0
// For this folder only: the tables of an experiment's rows.
#pragma once

#include <vector>

#include "model/experiment.h"
#include "model/experiment_result.h"
#include "report/document.h"

namespace xr::report {

// "left.pcapng frame 12", of a check with a frame.
std::string frame_text(const ExperimentCheck &check);

inline constexpr size_t kMostRows = 16; // of flows and queues, in text

Table flows_table(const ExperimentMeasurement &measured, size_t most);
// `order`: which queues, by index.
Table queues_table(const std::vector<ExperimentQueue> &queues, std::vector<size_t> order);
std::vector<size_t> all_of(size_t size);
// Queues with the longest backlogs; none where nothing waited.
std::vector<size_t> busiest(const std::vector<ExperimentQueue> &queues);
// Without rules there is no table in text.
Section rules_section(const std::vector<ExperimentRule> &rules);

} // namespace xr::report
