// SPDX-License-Identifier: Apache-2.0
// FCT and slowdown by flow size.
#include <algorithm>
#include <cmath>
#include <span>

#include "report/experiment.h"
#include "report/experiment_tables.h"

namespace xr::report {

namespace {

constexpr size_t kMostBins = 20; // 5 % of the flows each, as in figure 11 of HPCC's paper

// The smallest value that `fraction` of all do not exceed. `values` is sorted.
template <typename T> Value percentile(const std::vector<T> &values, double fraction) {
  if (values.empty())
    return {};
  const double rank = std::ceil(fraction * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

std::vector<Value> bin_row(std::span<const ExperimentFlow *const> bin) {
  std::vector<uint64_t> fct_ns;
  std::vector<double> slowdown;
  for (const ExperimentFlow *flow : bin) {
    fct_ns.push_back(flow->fct_ns.value_or(0));
    if (flow->slowdown)
      slowdown.push_back(*flow->slowdown);
  }
  std::ranges::sort(fct_ns);
  std::ranges::sort(slowdown);
  std::vector<Value> row = {bin.back()->whole.bytes, uint64_t{bin.size()}};
  for (const double fraction : {0.5, 0.95, 0.99})
    row.push_back(percentile(fct_ns, fraction));
  for (const double fraction : {0.5, 0.95, 0.99})
    row.push_back(percentile(slowdown, fraction));
  return row;
}

// Flows that ended, by size; empty if all have one size.
std::vector<const ExperimentFlow *> ended_by_size(const ExperimentMeasurement &measured) {
  std::vector<const ExperimentFlow *> flows;
  for (const ExperimentFlow &flow : measured.flows)
    if (flow.fct_ns)
      flows.push_back(&flow);
  const auto size = [](const ExperimentFlow *flow) { return flow->whole.bytes; };
  std::ranges::stable_sort(flows, {}, size);
  if (!flows.empty() && size(flows.front()) == size(flows.back()))
    flows.clear();
  return flows;
}

} // namespace

std::optional<Section> fct_by_size(const ExperimentMeasurement &measured) {
  using enum Format;
  const std::vector<const ExperimentFlow *> flows = ended_by_size(measured);
  if (flows.empty() || measured.unmeasured.contains("fct_ns"))
    return {};
  const size_t bins = std::min(kMostBins, flows.size());
  std::vector<std::vector<Value>> rows;
  for (size_t bin = 0; bin < bins; bin++) {
    const size_t first = bin * flows.size() / bins, end = (bin + 1) * flows.size() / bins;
    rows.push_back(bin_row(std::span(flows).subspan(first, end - first)));
  }
  return Section{"fct_by_size", "FCT by flow size",
                 make_table({{"size_bytes", "largest bytes", Count},
                             {"flows", "flows", Count},
                             {"fct_p50_ns", "FCT p50 ns", Count},
                             {"fct_p95_ns", "FCT p95 ns", Count},
                             {"fct_p99_ns", "FCT p99 ns", Count},
                             {"slowdown_p50", "slowdown p50", Rate},
                             {"slowdown_p95", "slowdown p95", Rate},
                             {"slowdown_p99", "slowdown p99", Rate}},
                            std::move(rows)),
                 Where::Json};
}

} // namespace xr::report
