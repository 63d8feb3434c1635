// SPDX-License-Identifier: Apache-2.0
#include "model/experiment.h"

#include <algorithm>
#include <map>

namespace xr {

namespace {

constexpr uint64_t ExperimentFlowCounts::*kFlowCounts[] = {
    &ExperimentFlowCounts::bytes,        &ExperimentFlowCounts::packets,
    &ExperimentFlowCounts::marked,       &ExperimentFlowCounts::cnps,
    &ExperimentFlowCounts::cuts,         &ExperimentFlowCounts::retransmitted,
    &ExperimentFlowCounts::timeouts,     &ExperimentFlowCounts::drops,
    &ExperimentFlowCounts::naks,         &ExperimentFlowCounts::failed,
    &ExperimentFlowCounts::kept_no_room, &ExperimentFlowCounts::arrived,
    &ExperimentFlowCounts::messages,     &ExperimentFlowCounts::acks,
};

constexpr uint64_t ExperimentRuleCounts::*kRuleCounts[] = {
    &ExperimentRuleCounts::matched,        &ExperimentRuleCounts::acted,
    &ExperimentRuleCounts::matched_bytes,  &ExperimentRuleCounts::acted_bytes,
    &ExperimentRuleCounts::spared,         &ExperimentRuleCounts::limited,
    &ExperimentRuleCounts::not_applicable, &ExperimentRuleCounts::refused,
    &ExperimentRuleCounts::not_held,
};

// Counters that are read at different ports may be a frame apart.
uint64_t increase(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

} // namespace

void ExperimentFlowCounts::add(const ExperimentFlowCounts &other) {
  for (const auto count : kFlowCounts)
    this->*count += other.*count;
}

ExperimentFlowCounts ExperimentFlowCounts::since(const ExperimentFlowCounts &before) const {
  ExperimentFlowCounts counts;
  for (const auto count : kFlowCounts)
    counts.*count = increase(this->*count, before.*count);
  return counts;
}

std::optional<LateRank> late_rank(const ExperimentJob &job) {
  using Why = ExperimentJob::Why;
  std::map<uint32_t, uint32_t> steps; // by rank
  std::optional<LateRank> most;
  for (const ExperimentJob::Step &step : job.steps)
    if (step.rank && (step.why == Why::LateSender || step.why == Why::LateReceiver))
      if (const uint32_t count = ++steps[*step.rank]; !most || count > most->steps)
        most = {*step.rank, count};
  return most;
}

WholeRun whole_run(const ExperimentMeasurement &measured) {
  WholeRun all;
  for (const ExperimentFlow &flow : measured.flows)
    all.flows.add(flow.whole);
  for (const ExperimentRule &rule : measured.rules) {
    all.rules_matched += rule.whole.matched;
    all.rules_acted += rule.whole.acted;
  }
  return all;
}

double goodput_bps(const ExperimentMeasurement &measured) {
  uint64_t bytes = 0, from = UINT64_MAX, to = 0;
  for (const ExperimentFlow &flow : measured.flows)
    if (flow.ran_to_ns > flow.ran_from_ns) {
      bytes += flow.bytes;
      from = std::min(from, flow.ran_from_ns);
      to = std::max(to, flow.ran_to_ns);
    }
  return bytes ? static_cast<double>(bytes) * 8e9 / static_cast<double>(to - from) : 0;
}

ExperimentRuleCounts ExperimentRuleCounts::since(const ExperimentRuleCounts &before) const {
  ExperimentRuleCounts counts;
  for (const auto count : kRuleCounts)
    counts.*count = increase(this->*count, before.*count);
  return counts;
}

} // namespace xr
