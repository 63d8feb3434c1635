// SPDX-License-Identifier: Apache-2.0
#include "plot/headline.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "names/quantity.h"

namespace xr::plot {

using names::quantity;

namespace {

// The completion time of all but one in a hundred flows.
std::optional<uint64_t> fct_p99(const ExperimentMeasurement &measured) {
  std::vector<uint64_t> times;
  for (const ExperimentFlow &flow : measured.flows)
    if (flow.fct_ns)
      times.push_back(*flow.fct_ns);
  if (times.empty())
    return {};
  std::ranges::sort(times);
  return times[(times.size() * 99 - 1) / 100];
}

} // namespace

const ExperimentQueue *bottleneck(const ExperimentMeasurement &measured) {
  const ExperimentQueue *longest = nullptr;
  for (const ExperimentQueue &queue : measured.queues) {
    if (queue.alias == "bottleneck")
      return &queue;
    if (queue.backlog_bytes.max() &&
        (!longest || queue.backlog_bytes.mean() > longest->backlog_bytes.mean()))
      longest = &queue;
  }
  return longest;
}

size_t tile_columns(size_t count, size_t most) {
  const size_t rows = std::max<size_t>(1, (count + most - 1) / most);
  return std::max<size_t>(1, (count + rows - 1) / rows);
}

std::vector<Tile> tiles(const ExperimentResult &result) {
  const ExperimentMeasurement &measured = result.measured;
  const ExperimentFlowCounts whole = whole_run(measured).flows;
  std::vector<Tile> all;
  const auto add = [&](const char *column, Tile tile) {
    if (measured.unmeasured.contains(column))
      tile.value = "-";
    all.push_back(std::move(tile));
  };
  const std::string flows = counted(measured.flows.size(), "flow") + ", measured time";
  uint64_t pauses = 0;
  for (const ExperimentQueue &queue : measured.queues)
    pauses += queue.pauses;
  add("goodput_bps", {"Goodput", quantity(xr::goodput_bps(measured), "bit/s"), flows});
  add("drops", {"Drops", grouped(whole.drops), "whole run", whole.drops > 0});
  add("marked", {"CE marks", grouped(whole.marked), "whole run"});
  add("cnps", {"CNPs", grouped(whole.cnps), "whole run"});
  add("pauses", {"PFC pauses", grouped(pauses), "measured time"});
  if (const auto fct = fct_p99(measured))
    add("fct_ns",
        {"FCT, p99", quantity(static_cast<double>(*fct) / 1e9, "s"), "flows that completed"});
  else if (const ExperimentQueue *queue = bottleneck(measured))
    add("backlog_bytes",
        {"Backlog, p99",
         quantity(static_cast<double>(queue->backlog_bytes.quantile(0.99)), "bytes"), queue->name});
  return all;
}

} // namespace xr::plot
